package io.patternbench.cinema.commons;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Answers that other threads wait for. */
public final class Joined {
  private Joined() {}

  /** Waits for an answer, and fails as it failed, without what the other thread wrapped around. */
  public static <T> T of(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }
}
