package io.patternbench.insurance.customercore;

import io.patternbench.insurance.commons.Address;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;

/** The new address of a customer. */
record AddressChange(@NotBlank String customerId, @NotNull @Valid Address address) {}
