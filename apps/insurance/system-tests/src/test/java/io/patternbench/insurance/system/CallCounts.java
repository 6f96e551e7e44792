package io.patternbench.insurance.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.system.Operations.Operation;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The calls that an operation makes, in all services together.
 *
 * <p>For the first three operations and the depth as published, they are those of Table II of El
 * Malki and Zdun (2021). Where policy-management asks customer-core for a customer, that one's call
 * of its database is among them.
 */
abstract class CallCounts {
  private static final int[] SIZES = {1, 10, 50};
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Insurance insurance;
  private final Operations operations;

  CallCounts(Insurance insurance) {
    this.insurance = insurance;
    this.operations = new Operations(insurance);
  }

  @AfterEach
  void asPublished() {
    insurance.bundlesGo(BundleReads.ONE_BY_ONE, BundleForward.EACH);
  }

  @ParameterizedTest
  @CsvSource({
    "get customers,          1, 1, 1, 0",
    "update addresses,       2, 1, 2, 0",
    "create quote requests,  2, 1, 2, 1",
    "get quote requests,     1, 0, 1, 0",
    "delete quote requests,  2, 1, 2, 1",
    "create policies,        2, 1, 2, 1",
    "get policies,           1, 0, 1, 0",
    "'get policies, expanded', 2, 1, 2, 1",
    "update policies,        3, 1, 3, 1",
    "delete policies,        1, 0, 1, 0",
  })
  void callsAsPublishedGrowWithTheSize(
      String name, int db, int dist, int bundleDb, int bundleDist) {
    Operation operation = operations.of(name);
    boolean oneCall = name.equals("get customers") || name.equals("update addresses");
    for (int n : SIZES) {
      assertCalls(operation, n, Operations.singles(operation), new Calls.Count(db * n, dist * n));
      Calls.Count bundled = new Calls.Count(bundleDb * n, oneCall ? 1 : bundleDist * n);
      assertCalls(operation, n, Operations.bundle(operation), bundled);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "get customers,          1, 1",
    "update addresses,       2, 1",
    "create quote requests,  2, 1",
    "get quote requests,     1, 0",
    "delete quote requests,  2, 1",
    "create policies,        2, 1",
    "get policies,           1, 0",
    "'get policies, expanded', 2, 1",
    "update policies,        3, 1",
    "delete policies,        1, 0",
  })
  void aBundleAsDeepAsItGoesCostsTheCallsOfOneItem(String name, int db, int dist) {
    insurance.bundlesGo(BundleReads.BATCHED, BundleForward.ONCE);
    Operation operation = operations.of(name);
    for (int n : SIZES) {
      assertCalls(operation, n, Operations.bundle(operation), new Calls.Count(db, dist));
    }
  }

  @ParameterizedTest
  @CsvSource({"BATCHED, EACH, 11, 10", "ONE_BY_ONE, ONCE, 20, 1"})
  void theTwoSettingsActApart(BundleReads reads, BundleForward forward, int db, int dist) {
    insurance.bundlesGo(reads, forward);
    Operation create = operations.of("create quote requests");
    assertCalls(create, 10, Operations.bundle(create), new Calls.Count(db, dist));
    Operation delete = operations.of("delete quote requests");
    assertCalls(delete, 10, Operations.bundle(delete), new Calls.Count(db, dist));
  }

  private void assertCalls(
      Operation operation, int n, Consumer<List<String>> work, Calls.Count expected) {
    List<String> ids = operation.given().apply(n);
    awaitArrival();
    Calls.Count before = insurance.calls();
    work.accept(ids);
    Awaitility.await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(insurance.calls().minus(before)).isEqualTo(expected));
  }

  /** Quote requests travel on after their sender has been answered. */
  private void awaitArrival() {
    Awaitility.await()
        .atMost(PATIENCE)
        .until(
            () ->
                insurance
                    .quotesOf("policy_management")
                    .containsAll(insurance.quotesOf("customer_self_service")));
  }
}
