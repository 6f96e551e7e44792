package io.patternbench.cinema.broker;

import java.util.List;

/**
 * What has come of a request so far.
 *
 * @param come in the order in which they came
 * @param expected how many there will be
 */
record Answers(List<Kept> come, int expected) {
  /** A cinema's answer as it is passed on: its status, and its JSON. */
  record Kept(String cinema, int status, byte[] json) {
    boolean failed() {
      return status >= 400;
    }
  }

  boolean complete() {
    return come.size() == expected;
  }

  /** How many have come, and how many are expected. */
  String counted() {
    return come.size() + "/" + expected;
  }
}
