package io.patternbench.insurance.customermanagement;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.bundle.Bundle;
import java.util.List;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.PutExchange;

/** What this service asks of customer-core. */
interface CustomerCoreClient {
  @GetExchange("/customers/{id}")
  Customer get(@PathVariable String id);

  @GetExchange("/customers/{ids}")
  Bundle<JsonNode> getBundle(@PathVariable String ids);

  @PutExchange("/customers/{id}/address")
  Address move(@PathVariable String id, @RequestBody Address address);

  @PutExchange("/customers/addresses")
  Bundle<JsonNode> moveBundle(@RequestBody List<JsonNode> changes);
}
