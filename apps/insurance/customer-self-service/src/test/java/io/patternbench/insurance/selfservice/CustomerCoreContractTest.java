package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.web.ServiceClients;
import io.patternbench.insurance.testing.Contract;
import io.patternbench.insurance.testing.Contract.Interaction;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.web.client.RestClient;

/** What this service asks of customer-core, and how it reads the answers. */
class CustomerCoreContractTest {
  private final RestClient.Builder builder = Contract.clients();
  private final MockRestServiceServer server = MockRestServiceServer.bindTo(builder).build();
  private final CustomerCoreClient core =
      ServiceClients.factory(builder).client(CustomerCoreClient.class, "");
  private final Contract contract = Contract.of("customer-self-service", "customer-core");

  @Test
  void onesOwnData() {
    reads("one's own data", () -> core.get("c000000007"));
  }

  @Test
  void onesOwnNewAddress() {
    Address address = new Address("Bahnhofplatz 8", "8640", "Rapperswil");
    reads("one's own new address", () -> core.move("c000000008", address));
  }

  private void reads(String description, Supplier<Object> call) {
    Interaction interaction = contract.interaction(description);
    interaction.isExpectedBy(server);
    interaction.isReadAs(call.get());
    server.verify();
  }
}
