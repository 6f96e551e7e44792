package io.patternbench.insurance.commons.bundle;

import io.patternbench.insurance.commons.bundle.Bundle.Item;
import io.patternbench.insurance.commons.problem.Failures;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/**
 * The items of a bundle on their way through a service: each has a value, or the problem that ended
 * its way. A step works on those that have a value, and fails none but its own.
 *
 * <p>A single request is a bundle of one, so both do the same.
 */
public final class Items<T> {
  private final List<Entry<T>> entries;

  private Items(List<Entry<T>> entries) {
    this.entries = entries;
  }

  private record Entry<T>(String id, T value, ErrorResponseException problem) {
    boolean isGood() {
      return problem == null;
    }

    <R> Entry<R> with(R result) {
      return new Entry<>(id, result, null);
    }

    <R> Entry<R> failed(ErrorResponseException cause) {
      return new Entry<>(id, null, cause);
    }
  }

  /** What was asked for, and what was found. */
  public record Found<T, R>(T asked, R found) {}

  public static <T> Items<T> of(List<T> values, Function<? super T, String> id) {
    return new Items<>(values.stream().map(v -> new Entry<>(id.apply(v), v, null)).toList());
  }

  /** The one item of a request that isn't a bundle. */
  public static <T> Items<T> one(T value) {
    return new Items<>(List.of(new Entry<>(null, value, null)));
  }

  /** Does something with each item; an exception ends the way of that item alone. */
  public <R> Items<R> each(Function<? super T, ? extends R> step) {
    return inPortions(() -> false, portion -> List.of(step.apply(portion.get(0))));
  }

  /** Looks at each item; an exception ends the way of that item alone. */
  public Items<T> check(Consumer<? super T> rule) {
    return each(
        item -> {
          rule.accept(item);
          return item;
        });
  }

  /**
   * Does something with a portion of items after the other. The step returns a result for each of
   * them, in their order; its exception ends the way of that portion.
   */
  public <R> Items<R> inPortions(Portions portions, Function<List<T>, List<R>> step) {
    List<Entry<T>> good = entries.stream().filter(Entry::isGood).toList();
    List<Entry<R>> done = new ArrayList<>();
    portions.of(good).forEach(portion -> done.addAll(carry(portion, step)));
    Iterator<Entry<R>> next = done.iterator();
    return new Items<>(
        entries.stream().map(e -> e.isGood() ? next.next() : e.<R>failed(e.problem)).toList());
  }

  /** Looks items up by a key; what the map does not hold fails with {@code missing}. */
  public <K, R> Items<Found<T, R>> find(
      Portions portions,
      Function<? super T, K> key,
      Function<List<K>, Map<K, R>> lookup,
      Function<K, ErrorResponseException> missing) {
    return inPortions(portions, portion -> looked(portion, key, lookup))
        .check(
            looked -> {
              if (looked.found() == null) {
                throw missing.apply(key.apply(looked.asked()));
              }
            });
  }

  private static <T, K, R> List<Found<T, R>> looked(
      List<T> portion, Function<? super T, K> key, Function<List<K>, Map<K, R>> lookup) {
    List<K> keys = new ArrayList<>(portion.size());
    portion.forEach(item -> keys.add(key.apply(item)));
    Map<K, R> found = lookup.apply(keys);
    return portion.stream().map(item -> new Found<>(item, found.get(key.apply(item)))).toList();
  }

  private static <T, R> List<Entry<R>> carry(
      List<Entry<T>> portion, Function<List<T>, List<R>> step) {
    try {
      Iterator<R> results = step.apply(portion.stream().map(Entry::value).toList()).iterator();
      return portion.stream().map(entry -> entry.with(results.next())).toList();
    } catch (RuntimeException e) {
      ErrorResponseException problem = Failures.of(e);
      return portion.stream().map(entry -> entry.<R>failed(problem)).toList();
    }
  }

  /** The value of the one item, or its problem, thrown. */
  public T only() {
    Entry<T> only = entries.get(0);
    if (!only.isGood()) {
      throw only.problem;
    }
    return only.value;
  }

  /** The answer to a bundle of things that were asked for by their ids. */
  public Bundle<Object> bundle() {
    return answer(entry -> new Item<>(entry.id, 200, entry.value));
  }

  /** The answer to a bundle of things that were created and have their ids since. */
  public Bundle<Object> created(Function<? super T, String> id) {
    return answer(entry -> new Item<>(id.apply(entry.value), 200, entry.value));
  }

  /** The answer to a bundle of deletions: items without a body. */
  public Bundle<Object> deleted() {
    return answer(entry -> new Item<>(entry.id, 204, null));
  }

  private Bundle<Object> answer(Function<Entry<T>, Item<Object>> good) {
    return Bundle.of(entries.stream().map(e -> e.isGood() ? good.apply(e) : problem(e)).toList());
  }

  private static Item<Object> problem(Entry<?> entry) {
    ProblemDetail detail = entry.problem.getBody();
    return new Item<>(entry.id, detail.getStatus(), detail);
  }
}
