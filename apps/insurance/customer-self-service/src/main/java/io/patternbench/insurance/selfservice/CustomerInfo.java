package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Address;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;

/** Who asks for a quote. */
record CustomerInfo(
    @NotBlank String customerId,
    @NotBlank @Size(max = 100) String firstname,
    @NotBlank @Size(max = 100) String lastname,
    @NotNull @Valid Address contactAddress,
    @NotNull @Valid Address billingAddress) {}
