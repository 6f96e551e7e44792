package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;

/**
 * A policy.
 *
 * @param customer as customer-core answers it; null where nobody asked
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Policy(
    String policyId,
    Instant creationDate,
    @JsonUnwrapped PolicyDetails details,
    JsonNode customer) {
  static Policy created(String id, Instant now, PolicyDetails details) {
    return new Policy(id, now, details, null);
  }

  Policy changedTo(PolicyDetails wanted) {
    return new Policy(policyId, creationDate, wanted, customer);
  }

  Policy expandedBy(JsonNode of) {
    return new Policy(policyId, creationDate, details, of);
  }

  String customerId() {
    return details.customerId();
  }
}
