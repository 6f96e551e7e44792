package io.patternbench.insurance.selfservice;

import java.util.List;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.service.annotation.DeleteExchange;
import org.springframework.web.service.annotation.PutExchange;

/** What this service asks of policy-management. */
interface PolicyManagementClient {
  @PutExchange("/insurance-quote-requests")
  void submit(@RequestBody List<InsuranceQuoteRequest> requests);

  @DeleteExchange("/insurance-quote-requests/{ids}")
  void withdraw(@PathVariable String ids);
}
