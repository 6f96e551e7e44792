package io.patternbench.insurance.selfservice;

import java.time.Instant;
import java.util.List;

/** A request for a quote, with what has happened to it. */
record InsuranceQuoteRequest(
    String id,
    Instant date,
    List<StatusChange> statusHistory,
    CustomerInfo customerInfo,
    InsuranceOptions insuranceOptions) {
  enum Status {
    REQUEST_SUBMITTED
  }

  record StatusChange(Instant date, Status status) {}

  static InsuranceQuoteRequest submitted(String id, Instant now, NewInsuranceQuoteRequest asked) {
    return new InsuranceQuoteRequest(
        id,
        now,
        List.of(new StatusChange(now, Status.REQUEST_SUBMITTED)),
        asked.customerInfo(),
        asked.insuranceOptions());
  }

  String customerId() {
    return customerInfo.customerId();
  }
}
