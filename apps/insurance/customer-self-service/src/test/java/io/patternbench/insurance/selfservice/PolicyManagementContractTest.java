package io.patternbench.insurance.selfservice;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.insurance.commons.web.ServiceClients;
import io.patternbench.insurance.selfservice.QuoteMessages.QuoteMessage;
import io.patternbench.insurance.selfservice.QuoteMessages.Withdrawal;
import io.patternbench.insurance.testing.Contract;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.web.client.RestClient;

/** What this service sends to policy-management, over HTTP and as messages. */
class PolicyManagementContractTest {
  private final RestClient.Builder builder = Contract.clients();
  private final MockRestServiceServer server = MockRestServiceServer.bindTo(builder).build();
  private final QuoteCalls calls =
      new QuoteCalls(ServiceClients.factory(builder).client(PolicyManagementClient.class, ""));

  @Test
  void quoteRequestsAsACall() {
    Quotes.CONTRACT.interaction("quote requests").isExpectedBy(server);
    calls.submit(List.of(Quotes.agreed()));
    server.verify();
  }

  @Test
  void withdrawalsAsACall() {
    Quotes.CONTRACT.interaction("withdrawals").isExpectedBy(server);
    calls.withdraw(
        "c000000007",
        List.of("11111111-2222-3333-4444-555555555555", "66666666-2222-3333-4444-555555555555"));
    server.verify();
  }

  @Test
  void quoteRequestsAsAMessage() {
    assertAgreed("quote requests", new QuoteMessage(List.of(Quotes.agreed()), List.of()));
  }

  @Test
  void withdrawalsAsAMessage() {
    Withdrawal withdrawal = new Withdrawal("11111111-2222-3333-4444-555555555555", "c000000007");
    assertAgreed("withdrawals", new QuoteMessage(List.of(), List.of(withdrawal)));
  }

  private static void assertAgreed(String description, QuoteMessage message) {
    Contract.Message agreed = Quotes.CONTRACT.message(description);
    assertThat(Contract.asWritten(message)).isEqualTo(agreed.body());
    assertThat(QuoteMessages.QUEUE).isEqualTo(agreed.queue());
  }
}
