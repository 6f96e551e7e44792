package io.patternbench.shop.persistence;

/**
 * A part of a list.
 *
 * @param start how many to leave out; below 0 none
 * @param max how many at most; below 0 all
 */
record Page(int start, int max) {
  long offset() {
    return Math.max(start, 0);
  }

  long limit() {
    return max < 0 ? Long.MAX_VALUE : max;
  }
}
