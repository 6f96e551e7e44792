package io.patternbench.insurance.customercore;

import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.testing.Contract;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.web.servlet.MockMvc;

/** What the other services ask of this one is answered as they read it. */
@MariaDb("customer_core")
@SpringBootTest
@AutoConfigureMockMvc
class ContractTest {
  @Autowired private MockMvc service;

  static Stream<Contract.Interaction> interactions() {
    return Stream.of("customer-management", "customer-self-service", "policy-management")
        .flatMap(consumer -> Contract.of(consumer, "customer-core").interactions().stream());
  }

  @ParameterizedTest
  @MethodSource("interactions")
  void theServiceKeepsItsContracts(Contract.Interaction interaction) throws Exception {
    interaction.isKeptBy(service);
  }
}
