package io.patternbench.calls.example;

import java.util.function.Supplier;

/** The other class. */
public class Back implements Supplier<Integer> {
  public int answer() {
    return 42;
  }

  public int failing() {
    throw new IllegalStateException();
  }

  public int inTurn(Front front, int times) {
    return front.inTurn(times);
  }

  public int run(Supplier<Integer> task) {
    return task.get();
  }

  /** The compiler adds a bridge to it, which returns an Object. */
  @Override
  public Integer get() {
    return 1;
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return 1;
  }

  @Override
  public String toString() {
    return "back";
  }
}
