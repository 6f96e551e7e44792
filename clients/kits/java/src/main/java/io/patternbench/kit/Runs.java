package io.patternbench.kit;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** What the guards of one user guard; one run of each is under way at most. */
final class Runs {
  private final List<Run> runs = new ArrayList<>();
  private final Runnable endAttempt;

  /**
   * The runs of a user.
   *
   * @param endAttempt ends the attempt under way as a timeout
   */
  Runs(Runnable endAttempt) {
    this.endAttempt = endAttempt;
  }

  /** Puts guards around an attempt, the first one outermost. */
  Supplier<Integer> around(List<Guard> guards, Supplier<Integer> attempt) {
    Supplier<Integer> stacked = attempt;
    for (int i = guards.size() - 1; i >= 0; i--) {
      Guard outer = guards.get(i);
      Run inner = new Run(stacked, endAttempt);
      runs.add(inner);
      stacked = () -> outer.call(inner);
    }
    return stacked;
  }

  /** Whether a guard has ended a run that is under way, so that no further attempt may begin. */
  boolean isEnded() {
    for (Run run : runs) {
      if (run.ended) {
        return true;
      }
    }
    return false;
  }

  private static final class Run implements Guarded {
    private final Supplier<Integer> guarded;
    private final Runnable endAttempt;
    private long number;
    private long cut;
    private Thread runner;
    private volatile boolean ended;

    Run(Supplier<Integer> guarded, Runnable endAttempt) {
      this.guarded = guarded;
      this.endAttempt = endAttempt;
    }

    @Override
    public Integer get() {
      begin();
      try {
        return guarded.get();
      } catch (RuntimeException e) {
        // What a library throws when its pause is interrupted is its own affair.
        if (ended) {
          return Outcome.TIMEOUT;
        }
        throw e;
      } finally {
        end();
      }
    }

    @Override
    public synchronized Runnable cutter() {
      long next = number + 1;
      return () -> cut(next);
    }

    private synchronized void begin() {
      number++;
      ended = cut == number;
      runner = Thread.currentThread();
    }

    private synchronized void cut(long which) {
      cut = which;
      if (runner != null && number == which) {
        ended = true;
        endAttempt.run();
        runner.interrupt();
      }
    }

    /** Within the lock, so that no interrupt outlasts the run that it was meant for. */
    private synchronized void end() {
      runner = null;
      if (ended) {
        Thread.interrupted();
        ended = false;
      }
    }
  }
}
