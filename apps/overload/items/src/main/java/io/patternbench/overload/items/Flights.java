package io.patternbench.overload.items;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.springframework.stereotype.Component;

/** Lets requests that look the same item up at the same time share one lookup, its failure too. */
@Component
class Flights {
  private final ConcurrentMap<Long, CompletableFuture<Item>> underWay = new ConcurrentHashMap<>();

  Item share(long id, Deadline deadline, Supplier<Item> lookup) {
    CompletableFuture<Item> own = new CompletableFuture<>();
    CompletableFuture<Item> first = underWay.putIfAbsent(id, own);
    return first == null ? made(id, own, lookup) : awaited(first, deadline);
  }

  private Item made(long id, CompletableFuture<Item> own, Supplier<Item> lookup) {
    try {
      Item item = lookup.get();
      own.complete(item);
      return item;
    } catch (RuntimeException e) {
      own.completeExceptionally(e);
      throw e;
    } finally {
      underWay.remove(id, own);
    }
  }

  private static Item awaited(CompletableFuture<Item> first, Deadline deadline) {
    try {
      return first.get(deadline.leftNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw Deadline.passed();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
