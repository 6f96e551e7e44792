package io.patternbench.resilience4j;

import io.patternbench.resilience4j.Round.Backoff;
import io.patternbench.resilience4j.Round.Breaking;
import io.patternbench.resilience4j.Round.Exponential;
import io.patternbench.resilience4j.Round.Fixed;
import io.patternbench.resilience4j.Round.LastCalls;
import io.patternbench.resilience4j.Round.LastTime;
import io.patternbench.resilience4j.Round.Linear;
import io.patternbench.resilience4j.Round.Retrying;
import io.patternbench.resilience4j.Round.SlowCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Says what of a valid round Resilience4j, or this client around it, cannot do exactly.
 *
 * <p>Such a round is refused by name. It is never rounded, clamped or approximated.
 */
final class Expressible {
  /** Each user is a thread of the platform. */
  static final int MOST_USERS = 10_000;

  /** The library sets aside memory for each call, or each second, of a window. */
  static final int LARGEST_WINDOW = 1_000_000;

  private static final long MILLISECOND_US = 1_000;
  private static final long SECOND_US = 1_000_000;
  private static final Set<String> OWN_HEADERS =
      Set.of("content-length", "transfer-encoding", "connection");
  private static final String HEADER_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

  private final List<Problem> problems = new ArrayList<>();

  private Expressible() {}

  static List<Problem> problems(Round round) {
    Expressible check = new Expressible();
    check.load(round);
    if (round.strategy() instanceof Retrying retrying) {
      check.retry(retrying);
    } else if (round.strategy() instanceof Breaking breaking) {
      check.breaker(breaking);
    }
    return check.problems;
  }

  private void load(Round round) {
    atMost("users", round.users(), MOST_USERS, "every user is a thread of its own");
    round.request().headers().entrySet().forEach(this::header);
  }

  private void header(Map.Entry<String, String> header) {
    String path = "request.headers." + header.getKey();
    if (OWN_HEADERS.contains(header.getKey().toLowerCase(Locale.ROOT))) {
      refuse(path, header.getValue(), "this client sets the header itself", "leave it out");
    } else if (!header.getKey().matches(HEADER_NAME)) {
      refuse(path, header.getValue(), "is no name of a header", "letters, digits and -");
    } else if (header.getValue().chars().anyMatch(c -> c < ' ' && c != '\t')) {
      refuse(path, header.getValue(), "holds a control character", "printable characters");
    }
  }

  private void retry(Retrying retrying) {
    if (Set.of("full", "equal").contains(retrying.jitter().kind())) {
      refuse(
          "strategy.retry.jitter",
          retrying.jitter().kind(),
          "Resilience4j has no such jitter; it spreads a delay by a share to either side",
          "none, or a number above 0, at most 1");
    }
    backoff("strategy.retry.backoff.", retrying.backoff());
  }

  private void backoff(String at, Backoff backoff) {
    if (backoff instanceof Fixed fixed) {
      milliseconds(at + "fixed.delay_us", fixed.delayUs());
    } else if (backoff instanceof Linear linear) {
      milliseconds(at + "linear.initial_us", linear.initialUs());
      milliseconds(at + "linear.increment_us", linear.incrementUs());
      milliseconds(at + "linear.max_us", linear.maxUs());
    } else if (backoff instanceof Exponential exponential) {
      milliseconds(at + "exponential.initial_us", exponential.initialUs());
      milliseconds(at + "exponential.max_us", exponential.maxUs());
    }
  }

  private void breaker(Breaking breaking) {
    String at = "strategy.circuit_breaker.";
    rate(at + "failure_rate", breaking.failureRate());
    slowCall(at + "slow_call.", breaking.slowCall());
    milliseconds(at + "open_for_us", breaking.openForUs());
    window(at, breaking);
    atMost(
        at + "half_open_calls",
        breaking.halfOpenCalls(),
        breaking.minimumCalls(),
        "a half-open breaker of Resilience4j decides after minimum_calls results, without"
            + " waiting for further ones; minimum_calls is "
            + breaking.minimumCalls());
  }

  private void slowCall(String at, SlowCall slowCall) {
    if (slowCall != null) {
      rate(at + "rate", slowCall.rate());
      atMost(
          at + "duration_us",
          slowCall.durationUs(),
          Long.MAX_VALUE / 1000,
          "Resilience4j counts nanoseconds");
    }
  }

  private void window(String at, Breaking breaking) {
    if (breaking.window() instanceof LastCalls last) {
      atMost(at + "window.calls", last.calls(), LARGEST_WINDOW, "the window must fit in memory");
      atMost(
          at + "minimum_calls",
          breaking.minimumCalls(),
          last.calls(),
          "a window of " + last.calls() + " calls never holds more");
    } else if (breaking.window() instanceof LastTime last) {
      wholeSeconds(at + "window.time_us", last.timeUs());
    }
  }

  private void wholeSeconds(String path, long timeUs) {
    atMost(path, timeUs, LARGEST_WINDOW * SECOND_US, "the window must fit in memory");
    if (timeUs % SECOND_US != 0) {
      refuse(
          path,
          timeUs,
          "Resilience4j counts a time window in whole seconds",
          "a multiple of 1000000 (1s), for instance " + roundedUp(timeUs, SECOND_US));
    }
  }

  /** A rate that is above 0 may still be 0 in the library's narrower type. */
  private void rate(String path, double rate) {
    if ((float) rate <= 0) {
      refuse(path, rate, "is too small for Resilience4j's float", "at least " + Float.MIN_VALUE);
    }
  }

  private void milliseconds(String path, Long timeUs) {
    if (timeUs != null && timeUs % MILLISECOND_US != 0) {
      refuse(
          path,
          timeUs,
          "Resilience4j counts this time in whole milliseconds",
          "a multiple of 1000 (1ms), for instance " + roundedUp(timeUs, MILLISECOND_US));
    }
  }

  private void atMost(String path, long value, long most, String why) {
    if (value > most) {
      refuse(path, value, why, "at most " + most);
    }
  }

  private static long roundedUp(long value, long unit) {
    return (value / unit + 1) * unit;
  }

  private void refuse(String path, Object value, String message, String allowed) {
    problems.add(new Problem(path, value, message, allowed));
  }
}
