package io.patternbench.insurance.policymanagement.quote;

import java.util.List;

/** What the self-service sends: quote requests, or withdrawals of some. */
record QuoteMessage(List<QuoteRequest> submitted, List<Withdrawal> withdrawn) {
  record Withdrawal(String id, String customerId) {}
}
