package io.patternbench.insurance.policymanagement.quote;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.testing.Contract;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.support.converter.MessageConverter;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.web.servlet.MockMvc;

/**
 * What the self-service sends is taken in, and in whatever order it comes, it comes to the same.
 */
@MariaDb("policy_management")
@SpringBootTest(properties = "QUOTE_CHANNEL=http")
@AutoConfigureMockMvc
class ContractTest {
  private static final Contract CONTRACT =
      Contract.of("customer-self-service", "policy-management");
  private static final String ID = "11111111-2222-3333-4444-555555555555";

  @Autowired private MockMvc service;
  @Autowired private QuoteQueue queue;
  @Autowired private MessageConverter converter;
  @Autowired private QuoteInbox inbox;
  @Autowired private JdbcClient database;

  @BeforeEach
  void empty() {
    database.sql("DELETE FROM insurance_quote_requests").update();
  }

  static List<Contract.Interaction> interactions() {
    return CONTRACT.interactions();
  }

  @ParameterizedTest
  @MethodSource("interactions")
  void theServiceKeepsItsContracts(Contract.Interaction interaction) throws Exception {
    interaction.isKeptBy(service);
  }

  @Test
  void aMessageIsStoredWithAllThatItSays() {
    receive("quote requests");
    ReceivedQuoteRequest stored = inbox.get(ID);
    assertThat(stored.withdrawn()).isFalse();
    assertThat(stored.request().customerInfo().contactAddress().city()).isEqualTo("Rapperswil");
    assertThat(stored.request().insuranceOptions().deductible().currency()).isEqualTo("CHF");
    assertThat(QuoteQueue.QUEUE).isEqualTo(CONTRACT.message("quote requests").queue());
  }

  @Test
  void aMessageThatComesTwiceCountsOnce() {
    receive("quote requests");
    receive("quote requests");
    assertThat(
            database
                .sql("SELECT COUNT(*) FROM insurance_quote_requests")
                .query(Integer.class)
                .single())
        .isEqualTo(1);
  }

  @Test
  void aWithdrawalThatOvertakesItsRequestHolds() {
    receive("withdrawals");
    receive("quote requests");
    assertThat(inbox.get(ID).withdrawn()).isTrue();
    assertThat(inbox.get(ID).request().customerId()).isEqualTo("c000000007");
  }

  @Test
  void aRepeatedRequestDoesNotUndoItsWithdrawal() {
    receive("quote requests");
    receive("withdrawals");
    receive("quote requests");
    assertThat(inbox.get(ID).withdrawn()).isTrue();
  }

  @Test
  void nobodyWithdrawsTheRequestOfAnotherCustomer() {
    receive("quote requests");
    inbox.withdraw(List.of(new QuoteMessage.Withdrawal(ID, "c000000008")));
    assertThat(inbox.get(ID).withdrawn()).isFalse();
  }

  @Test
  void aQuoteRequestThatLacksSomethingIsABadRequest() throws Exception {
    Contract.Interaction agreed = CONTRACT.interaction("quote requests");
    JsonNode bodies = agreed.request().body().deepCopy();
    ((ObjectNode) bodies.get(0)).remove("customerInfo");
    new Contract.Interaction(
            "without a customer",
            agreed.customer(),
            new Contract.Request("PUT", agreed.request().path(), bodies),
            new Contract.Response(400, null))
        .isKeptBy(service);
  }

  @Test
  void nobodySendsARequestForAnotherCustomer() throws Exception {
    Contract.Interaction agreed = CONTRACT.interaction("quote requests");
    new Contract.Interaction(
            "another customer's", "c000000008", agreed.request(), new Contract.Response(403, null))
        .isKeptBy(service);
  }

  private void receive(String description) {
    MessageProperties properties = new MessageProperties();
    properties.setContentType(MessageProperties.CONTENT_TYPE_JSON);
    properties.setInferredArgumentType(QuoteMessage.class);
    byte[] body = CONTRACT.message(description).body().toString().getBytes();
    queue.receive((QuoteMessage) converter.fromMessage(new Message(body, properties)));
  }
}
