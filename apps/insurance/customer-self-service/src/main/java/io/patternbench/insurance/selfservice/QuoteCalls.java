package io.patternbench.insurance.selfservice;

import java.util.List;

/** Quote requests as HTTP calls. */
record QuoteCalls(PolicyManagementClient policyManagement) implements QuoteChannel {
  @Override
  public void submit(List<InsuranceQuoteRequest> requests) {
    policyManagement.submit(requests);
  }

  /** Whose they are is in the caller's token. */
  @Override
  public void withdraw(String customerId, List<String> ids) {
    policyManagement.withdraw(String.join(",", ids));
  }
}
