package io.patternbench.insurance.selfservice;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.testing.Contract;

/** Quote requests for tests, as the contract has them. */
final class Quotes {
  static final Contract CONTRACT = Contract.of("customer-self-service", "policy-management");
  static final JsonNode AGREED = CONTRACT.interaction("quote requests").request().body().get(0);

  private Quotes() {}

  static InsuranceQuoteRequest agreed() {
    return read(AGREED, InsuranceQuoteRequest.class);
  }

  /** What c000000007 sends. */
  static NewInsuranceQuoteRequest wanted() {
    return read(AGREED, NewInsuranceQuoteRequest.class);
  }

  private static <T> T read(JsonNode json, Class<T> type) {
    try {
      return Contract.JSON.treeToValue(json, type);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
