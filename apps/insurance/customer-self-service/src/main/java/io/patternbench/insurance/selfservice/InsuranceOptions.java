package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Money;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.time.LocalDate;

/** What is to be insured, from when on, and how much of a damage the customer bears himself. */
record InsuranceOptions(
    @NotNull LocalDate startDate,
    @NotBlank @Size(max = 100) String insuranceType,
    @NotNull @Valid Money deductible) {}
