package io.patternbench.insurance.policymanagement.quote;

import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.Money;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.time.Instant;
import java.time.LocalDate;

/** The part of a request for a quote from which the quote is made. */
record QuoteRequest(
    @NotBlank @Size(max = 36) String id,
    @NotNull Instant date,
    @NotNull @Valid CustomerInfo customerInfo,
    @NotNull @Valid InsuranceOptions insuranceOptions) {
  record CustomerInfo(
      @NotBlank String customerId,
      @NotBlank String firstname,
      @NotBlank String lastname,
      @NotNull @Valid Address contactAddress,
      @NotNull @Valid Address billingAddress) {}

  record InsuranceOptions(
      @NotNull LocalDate startDate,
      @NotBlank String insuranceType,
      @NotNull @Valid Money deductible) {}

  String customerId() {
    return customerInfo.customerId();
  }
}
