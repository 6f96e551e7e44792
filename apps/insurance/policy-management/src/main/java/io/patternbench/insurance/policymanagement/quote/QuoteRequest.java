package io.patternbench.insurance.policymanagement.quote;

import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.Money;
import java.time.Instant;
import java.time.LocalDate;

/** A request for a quote, as far as whoever makes the quote has to know it. */
record QuoteRequest(
    String id, Instant date, CustomerInfo customerInfo, InsuranceOptions insuranceOptions) {
  record CustomerInfo(
      String customerId,
      String firstname,
      String lastname,
      Address contactAddress,
      Address billingAddress) {}

  record InsuranceOptions(LocalDate startDate, String insuranceType, Money deductible) {}

  String customerId() {
    return customerInfo.customerId();
  }
}
