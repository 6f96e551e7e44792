package io.patternbench.insurance.commons.bundle;

import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;

/**
 * The answer to a bundle: how many items it has, and what became of each, in the order of the
 * request.
 */
public record Bundle<T>(int size, List<Item<T>> items) {
  public static <T> Bundle<T> of(List<Item<T>> items) {
    return new Bundle<>(items.size(), items);
  }

  /**
   * What became of one item.
   *
   * @param id of the thing asked for or created; null for what could not be created
   * @param status what HTTP would have said to this item alone
   * @param body the thing, or the problem; null after a deletion
   */
  public record Item<T>(String id, int status, T body) {
    boolean isServerError() {
      return HttpStatus.valueOf(status).is5xxServerError();
    }
  }

  /**
   * This answer over HTTP: 200, whatever its items say, unless the service failed at every one of
   * them. A caller, a gateway and a monitor then see the failure without reading the items.
   */
  public ResponseEntity<Bundle<T>> response() {
    boolean failed = !items.isEmpty() && items.stream().allMatch(Item::isServerError);
    return ResponseEntity.status(failed ? items.get(0).status() : 200).body(this);
  }
}
