package io.patternbench.insurance.commons;

import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Size;

/** Where somebody lives. */
public record Address(
    @NotBlank @Size(max = 100) String streetAddress,
    @NotBlank @Size(max = 10) String postalCode,
    @NotBlank @Size(max = 100) String city) {}
