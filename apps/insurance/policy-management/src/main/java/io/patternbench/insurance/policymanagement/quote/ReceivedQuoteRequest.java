package io.patternbench.insurance.policymanagement.quote;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

/** A quote request, and whether the customer has withdrawn it since. */
record ReceivedQuoteRequest(boolean withdrawn, @JsonUnwrapped QuoteRequest request) {}
