package io.patternbench.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a policy ends is a timeout, and nothing of it reaches what comes afterwards. */
class RunsTest {
  private static final Adapter PLAIN = new PlainAdapter();
  private static final String TIMEOUT = Rounds.timeout(1_000_000);

  private static String retry() {
    return Rounds.policy(Rounds.retry(2, "{'fixed':{'delay_us':0}}", "'none'"));
  }

  @Test
  void aTimeOutEndsTheAttemptUnderWayAndARetryAroundItGoesOn() throws Exception {
    ObjectNode round = Rounds.stack(retry(), TIMEOUT);
    assertEquals(List.of("0.1 timeout", "0.2 200"), Rounds.rows(round, PLAIN, -1, 200));
  }

  @Test
  void aTimeOutAroundARetryLetsNoFurtherAttemptBegin() throws Exception {
    ObjectNode round = Rounds.stack(TIMEOUT, retry());
    assertEquals(List.of("0.1 timeout", "1.1 200"), Rounds.rows(round, PLAIN, -1, 200));
  }

  @Test
  void aRunThatWasEndedBeforeItBeganMakesNoAttempt() {
    int[] attempts = {0};
    Runs runs = new Runs(() -> {});
    Guard ending =
        guarded -> {
          guarded.cutter().run();
          return guarded.get();
        };
    var call =
        runs.around(
            List.of(ending),
            () -> {
              attempts[0] += runs.isEnded() ? 0 : 1;
              throw Rejected.CALL;
            });
    assertEquals(Outcome.TIMEOUT, call.get());
    assertEquals(0, attempts[0]);
    assertFalse(runs.isEnded());
  }

  @Test
  void whatEndsARunTooLateEndsNoOther() {
    Runnable[] late = {null};
    Runs runs = new Runs(() -> {});
    Guard keeping =
        guarded -> {
          Runnable cutter = guarded.cutter();
          int outcome = guarded.get();
          late[0] = cutter;
          return outcome;
        };
    var call =
        runs.around(
            List.of(keeping),
            () -> {
              if (late[0] != null) {
                late[0].run();
              }
              return runs.isEnded() ? Outcome.TIMEOUT : 200;
            });
    assertEquals(200, call.get());
    assertEquals(200, call.get());
    assertFalse(Thread.currentThread().isInterrupted());
  }

  @Test
  void anInterruptDoesNotOutlastTheRunThatItWasMeantFor() {
    Runs runs = new Runs(() -> {});
    Guard ending =
        guarded -> {
          Runnable cutter = guarded.cutter();
          ended[0] = cutter;
          return guarded.get();
        };
    var call =
        runs.around(
            List.of(ending),
            () -> {
              ended[0].run();
              throw new IllegalStateException("a pause was interrupted");
            });
    assertEquals(Outcome.TIMEOUT, call.get());
    assertFalse(Thread.currentThread().isInterrupted());
  }

  private final Runnable[] ended = {null};
}
