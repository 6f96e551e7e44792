package io.patternbench.insurance.policymanagement.policy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.web.ServiceClients;
import io.patternbench.insurance.testing.Contract;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.web.client.RestClient;

/** What this service asks of customer-core, and how it reads the answers. */
class ContractTest {
  private final RestClient.Builder builder = Contract.clients();
  private final MockRestServiceServer server = MockRestServiceServer.bindTo(builder).build();
  private final Customers customers =
      new Customers(ServiceClients.factory(builder).client(CustomerCoreClient.class, ""));
  private final Contract contract = Contract.of("policy-management", "customer-core");

  @Test
  void aCustomerWhoDoesNotExistIsNotAmongThoseFound() {
    assertFinds("customers, one of whom does not exist", List.of("c000000007", "c999999999"));
  }

  @Test
  void oneCustomerIsAskedForAsABundleAndOnce() {
    assertFinds("one customer as a bundle", List.of("c000000007", "c000000007"));
  }

  private void assertFinds(String description, List<String> ids) {
    contract.interaction(description).isExpectedBy(server);
    Map<String, JsonNode> found = customers.find(ids);
    assertThat(found).containsOnlyKeys("c000000007");
    assertThat(found.get("c000000007").get("lastname").asText()).isEqualTo("Baumann");
    server.verify();
  }
}
