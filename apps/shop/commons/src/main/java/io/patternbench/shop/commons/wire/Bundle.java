package io.patternbench.shop.commons.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/** The answer to a bundle: how many items it has, and what became of each, in the order asked. */
public record Bundle<T>(int size, List<Item<T>> items) {
  public static <T> Bundle<T> of(List<Item<T>> items) {
    return new Bundle<>(items.size(), items);
  }

  /**
   * What became of one item.
   *
   * @param status what HTTP would have said to this item alone
   * @param body left out where there is none
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Item<T>(long id, int status, T body) {}
}
