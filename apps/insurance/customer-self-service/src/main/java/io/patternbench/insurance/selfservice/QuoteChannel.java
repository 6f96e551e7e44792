package io.patternbench.insurance.selfservice;

import java.util.List;

/**
 * The way of quote requests to policy-management, which keeps a copy of each.
 *
 * <p>Both operations may be repeated and may overtake each other; policy-management then comes to
 * the same. They return once policy-management, or the broker on its behalf, has what was sent.
 */
interface QuoteChannel {
  void submit(List<InsuranceQuoteRequest> requests);

  void withdraw(String customerId, List<String> ids);
}
