package io.patternbench.failsafe;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.Rounds;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A time-out of the library ends the attempt under way, and a pause; and refuses what it cannot
 * end.
 */
class TimeoutTest {
  private static final Adapter ADAPTER = new FailsafeAdapter();
  private static final String A_MINUTE = "{'fixed':{'delay_us':60000000}}";
  private static final String AT_ONCE = "{'fixed':{'delay_us':0}}";
  private static final String TIMEOUT = Rounds.timeout(1_000_000);

  private static String retry(String backoff) {
    return Rounds.policy(Rounds.retry(2, backoff, "'none'"));
  }

  @Test
  void anAttemptThatTakesTooLongIsATimeoutAndTriedAgain() throws Exception {
    ObjectNode round = Rounds.stack(retry(AT_ONCE), TIMEOUT);
    assertEquals(List.of("0.1 timeout", "0.2 200"), Rounds.rows(round, ADAPTER, -1, 200));
  }

  @Test
  void aTimeOutAroundARetryEndsItsPauses() throws Exception {
    ObjectNode round = Rounds.stack(TIMEOUT, retry(A_MINUTE));
    assertEquals(List.of("0.1 503", "1.1 200"), Rounds.rows(round, ADAPTER, 503, 200));
  }

  @Test
  void aBreakerBetweenATimeOutAndARetryIsRefused() {
    String breaker = Rounds.policy(Rounds.breaker());
    assertEquals(
        List.of("strategy.stack[0].timeout"),
        Rounds.refused(Rounds.stack(TIMEOUT, breaker, retry(AT_ONCE)), ADAPTER));
    assertEquals(
        List.of(), Rounds.refused(Rounds.stack(breaker, TIMEOUT, retry(AT_ONCE)), ADAPTER));
    assertEquals(
        List.of(), Rounds.refused(Rounds.stack(retry(AT_ONCE), TIMEOUT, breaker), ADAPTER));
  }
}
