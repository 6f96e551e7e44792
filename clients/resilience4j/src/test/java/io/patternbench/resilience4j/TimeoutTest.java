package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.Mockito.mockingDetails;
import static org.mockito.Mockito.spy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.Round.Timeout;
import io.patternbench.kit.Rounds;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * A time-out of the library ends the attempt under way, and a pause; and refuses what it cannot
 * end.
 */
class TimeoutTest {
  private static final Adapter ADAPTER = new Resilience4jAdapter();
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
  void aTimeOutWithinAnotherEndsBeforeTheNextCallBegins() throws Exception {
    ObjectNode round = Rounds.stack(TIMEOUT, Rounds.timeout(5_000_000));
    assertEquals(List.of("0.1 timeout", "1.1 200"), Rounds.rows(round, ADAPTER, -1, 200));
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

  @Test
  void aTimeThatTheLibraryWouldCutIsRefusedByName() {
    assertEquals(
        List.of("strategy.stack[0].timeout.after_us"),
        Rounds.refused(Rounds.stack(Rounds.timeout(1_500)), ADAPTER));
  }

  @Test
  void everyParameterOfATimeLimiterIsSet() {
    TimeLimiterConfig.Builder builder = spy(TimeLimiterConfig.custom());
    LibraryConfig.timeout(builder, new Timeout(20_000));
    Set<String> set =
        mockingDetails(builder).getInvocations().stream()
            .map(call -> call.getMethod().getName())
            .collect(Collectors.toSet());
    Set<String> parameters =
        Arrays.stream(TimeLimiterConfig.Builder.class.getDeclaredMethods())
            .filter(m -> m.getReturnType() == TimeLimiterConfig.Builder.class && !m.isSynthetic())
            .map(Method::getName)
            .collect(Collectors.toSet());
    assertEquals(parameters, set);
  }
}
