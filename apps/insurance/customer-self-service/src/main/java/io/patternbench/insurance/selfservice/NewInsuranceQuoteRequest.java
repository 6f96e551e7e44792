package io.patternbench.insurance.selfservice;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotNull;

/** A request for a quote, as a customer sends it. */
record NewInsuranceQuoteRequest(
    @NotNull @Valid CustomerInfo customerInfo, @NotNull @Valid InsuranceOptions insuranceOptions) {}
