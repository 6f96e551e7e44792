package io.patternbench.kit;

import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * One virtual user: calls one after another until it has enough.
 *
 * <p>Belongs to one thread. A library that runs what it guards on another waits for that one.
 */
final class User {
  private final int number;
  private final Round round;
  private final Runs runs;
  private final Supplier<Integer> guardedAttempt;
  private final Connection connection;
  private final Rows rows;
  private final RoundClock clock;
  private long calls;
  private long successes;
  private long attempts;
  private long attemptsOfCall;

  User(
      int number,
      Round round,
      List<Guard> guards,
      Connection connection,
      Rows rows,
      RoundClock clock) {
    this.number = number;
    this.round = round;
    this.runs = new Runs(connection::cut);
    this.guardedAttempt = runs.around(guards, this::attempt);
    this.connection = connection;
    this.rows = rows;
    this.clock = clock;
  }

  void run() {
    while (!hasEnough()) {
      call();
      if (attemptsOfCall == 0) {
        pause(round.rejectedPauseUs());
      }
      if (!hasEnough()) {
        pause(round.thinkTimeUs());
      }
    }
  }

  private void call() {
    attemptsOfCall = 0;
    int outcome = guarded();
    // It was rejected, or its time was over while it waited. Else it ends with its last attempt.
    if (attemptsOfCall == 0) {
      rows.add(number, calls, 0, clock.elapsedUs(), 0, Outcome.REJECTED);
    }
    if (Outcome.isSuccess(outcome)) {
      successes++;
    }
    calls++;
  }

  private int guarded() {
    try {
      return guardedAttempt.get();
    } catch (Rejected e) {
      return Outcome.REJECTED;
    }
  }

  private int attempt() {
    if (runs.isEnded()) {
      throw Rejected.CALL;
    }
    attempts++;
    attemptsOfCall++;
    long start = clock.elapsedUs();
    int outcome = connection.send(runs::isEnded);
    // An attempt that was cut off by the end of the round says nothing about the target.
    if (!clock.isStopped()) {
      rows.add(number, calls, attemptsOfCall, start, clock.elapsedUs() - start, outcome);
    }
    return outcome;
  }

  private boolean hasEnough() {
    return clock.isStopped()
        || reached(successes, round.successes())
        || reached(attempts, round.maxAttempts())
        || clock.elapsedUs() >= round.timeLimitUs();
  }

  private static boolean reached(long count, Long limit) {
    return limit != null && count >= limit;
  }

  /** Waits, though not beyond the round's end. */
  private void pause(long pauseUs) {
    long began = clock.elapsedUs();
    long leftUs = Math.min(pauseUs, round.timeLimitUs() - began);
    while (leftUs > 0 && !clock.isStopped()) {
      LockSupport.parkNanos(leftUs > Long.MAX_VALUE / 1000 ? Long.MAX_VALUE : leftUs * 1000);
      leftUs = Math.min(pauseUs, round.timeLimitUs() - began) - (clock.elapsedUs() - began);
    }
  }
}
