package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Answer;
import java.util.List;

/**
 * What has come of a request so far.
 *
 * @param come in the order in which they came
 * @param expected how many there will be
 */
record Answers(List<Answer> come, int expected) {
  boolean complete() {
    return come.size() == expected;
  }

  /** How many have come, and how many are expected. */
  String counted() {
    return come.size() + "/" + expected;
  }
}
