package io.patternbench.resilience4j;

import io.github.resilience4j.timelimiter.TimeLimiter;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import io.patternbench.kit.Guard;
import io.patternbench.kit.Guarded;
import io.patternbench.kit.Outcome;
import io.patternbench.kit.Rejected;
import io.patternbench.kit.Round.Timeout;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

/** Resilience4j's TimeLimiter: it limits how long a future is waited for, so a thread of its own runs it. */
final class TimeLimited implements Guard {
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "time-limited");
            thread.setDaemon(true);
            return thread;
          });

  private final TimeLimiter limiter;

  TimeLimited(Timeout policy) {
    TimeLimiterConfig config = LibraryConfig.timeout(TimeLimiterConfig.custom(), policy).build();
    this.limiter = TimeLimiter.of("timeout", config);
  }

  @Override
  public int call(Guarded guarded) {
    Runnable cutter = guarded.cutter();
    Callable<Integer> run = guarded::get;
    Future<Integer> running = THREADS.submit(run);
    try {
      return limiter.executeFutureSupplier(() -> running);
    } catch (TimeoutException e) {
      cutter.run();
      return ended(running);
    } catch (InterruptedException e) {
      // A policy further out, or the end of the round.
      cutter.run();
      Thread.currentThread().interrupt();
      throw Rejected.CALL;
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Waits for the end of what was cut: two attempts of one call never overlap. */
  private static int ended(Future<Integer> running) {
    try {
      running.get();
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof Rejected)) {
        throw new IllegalStateException(e.getCause());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Rejected.CALL;
    }
    return Outcome.TIMEOUT;
  }
}
