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

/**
 * Resilience4j's TimeLimiter: it limits how long a future is waited for, so a thread of its own
 * runs it.
 */
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
      end(cutter, running);
      return Outcome.TIMEOUT;
    } catch (InterruptedException e) {
      // A policy further out has ended it, or the round has.
      end(cutter, running);
      Thread.currentThread().interrupt();
      throw Rejected.CALL;
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Ends what is late, and waits for its end, whatever happens: two attempts of one call never
   * overlap.
   */
  private static void end(Runnable cutter, Future<Integer> running) {
    cutter.run();
    boolean interrupted = false;
    while (!running.isDone()) {
      try {
        running.get();
      } catch (ExecutionException e) {
        rethrow(e.getCause());
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void rethrow(Throwable cause) {
    if (!(cause instanceof Rejected)) {
      throw new IllegalStateException(cause);
    }
  }
}
