package io.patternbench.kit;

import io.patternbench.kit.Adapter.Entry;
import io.patternbench.kit.Round.Backoff;
import io.patternbench.kit.Round.Bulkhead;
import io.patternbench.kit.Round.CircuitBreaker;
import io.patternbench.kit.Round.Exponential;
import io.patternbench.kit.Round.Fixed;
import io.patternbench.kit.Round.Linear;
import io.patternbench.kit.Round.Retry;
import java.util.ArrayList;
import java.util.List;

/** The problems of a round, noted one after another; paths are those of the round. */
public final class Problems {
  private static final long MILLISECOND_US = 1_000;

  private final List<Problem> noted;
  private final String library;
  private final String under;

  Problems(String library) {
    this(new ArrayList<>(), library, "");
  }

  private Problems(List<Problem> noted, String library, String under) {
    this.noted = noted;
    this.library = library;
    this.under = under;
  }

  /** The same list, for paths under a prefix, as {@code strategy.retry.}. */
  Problems under(String prefix) {
    return new Problems(noted, library, under + prefix);
  }

  /** All that were noted. */
  public List<Problem> all() {
    return List.copyOf(noted);
  }

  /** Notes that the library cannot express what stands at a path; an empty one is all of it. */
  public void refuse(String path, Object value, String message, String allowed) {
    String at = path.isEmpty() ? under.replaceFirst("\\.$", "") : under + path;
    noted.add(new Problem(at, value, message, allowed));
  }

  /** Refuses a value above a largest one. */
  public void atMost(String path, long value, long most, String why) {
    if (value > most) {
      refuse(path, value, why, "at most " + most);
    }
  }

  /** Refuses to heed Retry-After, which no client of this kit reads. */
  public void retryAfter(Retry retry) {
    if (retry.retryAfterMaxUs() != null && retry.retryAfterMaxUs() > 0) {
      String why = "this client does not read Retry-After";
      refuse("retry_after_max_us", retry.retryAfterMaxUs(), why, "0");
    }
  }

  /** Refuses a bound on how many wait, for libraries without one, unless it is never reached. */
  public void boundedWaiting(Bulkhead bulkhead, int users) {
    int most = bulkhead.shared() ? Math.max(0, users - bulkhead.maxConcurrent()) : 0;
    if (bulkhead.maxWaiting() > 0 && bulkhead.maxWaiting() < most) {
      String why = library + " does not bound how many wait; of these users " + most + " may";
      refuse("max_waiting", bulkhead.maxWaiting(), why, "0, or at least " + most);
    }
  }

  /**
   * Refuses a time-out around a breaker that guards a retry.
   *
   * <p>What ends in a pause between two attempts leaves the breaker as an exception, which no
   * library here counts as the failure that it is.
   */
  public void breakersWithin(Entry timeout) {
    boolean guarded = false;
    for (Round.Policy policy : timeout.guarded()) {
      if (guarded && policy instanceof Retry) {
        String why =
            library
                + " does not count as failed what a time-out around its breaker ends in a pause";
        refuse("", null, why, "a circuit_breaker around the timeout, or one that guards no retry");
        return;
      }
      guarded |= policy instanceof CircuitBreaker;
    }
  }

  /** Refuses a time that the library, which counts milliseconds, would cut; null is fine. */
  public void milliseconds(String path, Long timeUs) {
    multiple(path, timeUs, MILLISECOND_US, "this time in whole milliseconds");
  }

  /** Refuses a back-off whose times the library, which counts milliseconds, would cut. */
  public void milliseconds(Backoff backoff) {
    if (backoff instanceof Fixed fixed) {
      milliseconds("backoff.fixed.delay_us", fixed.delayUs());
    } else if (backoff instanceof Linear linear) {
      milliseconds("backoff.linear.initial_us", linear.initialUs());
      milliseconds("backoff.linear.increment_us", linear.incrementUs());
      milliseconds("backoff.linear.max_us", linear.maxUs());
    } else if (backoff instanceof Exponential exponential) {
      milliseconds("backoff.exponential.initial_us", exponential.initialUs());
      milliseconds("backoff.exponential.max_us", exponential.maxUs());
    }
  }

  /** Refuses a time that isn't a multiple of the library's unit; null is fine. */
  public void multiple(String path, Long timeUs, long unitUs, String counts) {
    if (timeUs != null && timeUs % unitUs != 0) {
      String next = "for instance " + (timeUs / unitUs + 1) * unitUs;
      refuse(path, timeUs, library + " counts " + counts, "a multiple of " + unitUs + ", " + next);
    }
  }
}
