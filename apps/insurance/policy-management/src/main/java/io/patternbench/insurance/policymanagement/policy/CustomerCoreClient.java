package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.bundle.Bundle;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.service.annotation.GetExchange;

/** What this service asks of customer-core. */
interface CustomerCoreClient {
  @GetExchange("/customers/{ids}")
  Bundle<JsonNode> getBundle(@PathVariable String ids);
}
