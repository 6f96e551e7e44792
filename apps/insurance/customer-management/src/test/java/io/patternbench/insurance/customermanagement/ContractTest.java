package io.patternbench.insurance.customermanagement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.web.ServiceClients;
import io.patternbench.insurance.testing.Contract;
import io.patternbench.insurance.testing.Contract.Interaction;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClientResponseException;

/** What this service asks of customer-core, and how it reads the answers. */
class ContractTest {
  private final RestClient.Builder builder = Contract.clients();
  private final MockRestServiceServer server = MockRestServiceServer.bindTo(builder).build();
  private final CustomerCoreClient core =
      ServiceClients.factory(builder).client(CustomerCoreClient.class, "");
  private final Contract contract = Contract.of("customer-management", "customer-core");

  @Test
  void aCustomer() {
    reads("a customer", () -> core.get("c000000007"));
  }

  @Test
  void customers() {
    reads("customers, one of whom does not exist", () -> core.getBundle("c000000007,c999999999"));
  }

  @Test
  void aNewAddress() {
    reads(
        "a new address",
        () -> core.move("c000000008", new Address("Bahnhofplatz 8", "8640", "Rapperswil")));
  }

  @Test
  void newAddresses() {
    String name = "new addresses, one of a customer who does not exist";
    List<JsonNode> changes = new ArrayList<>();
    contract.interaction(name).request().body().forEach(changes::add);
    reads(name, () -> core.moveBundle(changes));
  }

  @Test
  void whatTheCoreRefusesIsRefusedToTheCaller() {
    contract.interaction("no such customer").isExpectedBy(server);
    RestClientResponseException refused =
        catchThrowableOfType(RestClientResponseException.class, () -> core.get("c999999999"));
    assertThat(Problems.of(refused).getBody().getDetail())
        .isEqualTo("there is no customer c999999999");
    assertThat(Problems.of(refused).getStatusCode().value()).isEqualTo(404);
  }

  private void reads(String description, Supplier<Object> call) {
    Interaction interaction = contract.interaction(description);
    interaction.isExpectedBy(server);
    interaction.isReadAs(call.get());
    server.verify();
  }
}
