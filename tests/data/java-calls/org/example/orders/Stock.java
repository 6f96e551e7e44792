package org.example.orders;

import java.util.List;
import java.util.function.ToIntFunction;

/** Knows prices. */
class Stock {
  /** Counts down by itself (none), and asks once. */
  int reserve(int size) {
    return size > 0 ? reserve(size - 1) : new Line(0).number(); // 1
  }

  /** Entered for each line, and enters each line. */
  int price(Line line) {
    return line.number() * 2;
  }

  int each(List<Line> lines, ToIntFunction<Line> number) {
    return lines.stream().mapToInt(number).sum();
  }

  void refuse() {
    throw new IllegalStateException("out of stock");
  }
}
