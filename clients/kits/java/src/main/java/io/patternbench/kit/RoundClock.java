package io.patternbench.kit;

/** The time since a round's start, and whether the round has been stopped. */
final class RoundClock {
  private volatile long startNanos = System.nanoTime();
  private volatile boolean stopped;

  /** Begins again at zero. */
  void start() {
    startNanos = System.nanoTime();
  }

  long elapsedUs() {
    return (System.nanoTime() - startNanos) / 1000;
  }

  void stop() {
    stopped = true;
  }

  boolean isStopped() {
    return stopped;
  }
}
