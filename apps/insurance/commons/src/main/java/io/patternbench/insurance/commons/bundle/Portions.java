package io.patternbench.insurance.commons.bundle;

import java.util.List;

/** How the items of a bundle are handed on: in how many portions. */
public interface Portions {
  boolean together();

  /** The items, in their order, as one portion or as portions of one. */
  default <T> List<List<T>> of(List<T> items) {
    if (items.isEmpty()) {
      return List.of();
    }
    return together() ? List.of(items) : items.stream().map(List::of).toList();
  }
}
