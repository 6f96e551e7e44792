package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Address;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.PutExchange;

/** What this service asks of customer-core. */
interface CustomerCoreClient {
  @GetExchange("/customers/{id}")
  Customer get(@PathVariable String id);

  @PutExchange("/customers/{id}/address")
  Address move(@PathVariable String id, @RequestBody Address address);
}
