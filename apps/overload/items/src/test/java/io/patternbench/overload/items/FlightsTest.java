package io.patternbench.overload.items;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.patternbench.apps.commons.Problems;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.web.ErrorResponseException;

/** Requests for one item at the same time share one lookup. */
class FlightsTest {
  private static final Item SEVEN = new Item(7, "Item 7", 1);

  private final Flights flights = new Flights();
  private final AtomicInteger lookups = new AtomicInteger();
  private final CountDownLatch mayEnd = new CountDownLatch(1);
  private final List<Thread> waiting = new ArrayList<>();

  private CompletableFuture<Item> asked(long id, Duration time, Supplier<Item> lookup) {
    CompletableFuture<Item> answer = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                answer.complete(flights.share(id, Deadline.in(time), lookup));
              } catch (RuntimeException e) {
                answer.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    waiting.add(thread);
    return answer;
  }

  private Item slow() {
    lookups.incrementAndGet();
    try {
      mayEnd.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return SEVEN;
  }

  private void untilAllWait() throws InterruptedException {
    for (Thread one : waiting) {
      while (one.getState() == Thread.State.RUNNABLE || one.getState() == Thread.State.NEW) {
        Thread.sleep(1);
      }
    }
  }

  private void untilUnderWay(int number) throws InterruptedException {
    while (lookups.get() < number) {
      Thread.sleep(1);
    }
  }

  @Test
  void twentyRequestsForOneItemMakeOneLookupAndAllGetIt() throws Exception {
    CompletableFuture<Item> first = asked(7, Duration.ofSeconds(30), this::slow);
    untilUnderWay(1);
    List<CompletableFuture<Item>> others =
        Stream.generate(() -> asked(7, Duration.ofSeconds(30), this::slow)).limit(19).toList();
    CompletableFuture<Item> another = asked(8, Duration.ofSeconds(30), this::slow);
    untilUnderWay(2);
    untilAllWait();
    assertThat(lookups.get()).isEqualTo(2);
    mayEnd.countDown();
    assertThat(first.get()).isEqualTo(SEVEN);
    for (CompletableFuture<Item> one : others) {
      assertThat(one.get()).isEqualTo(SEVEN);
    }
    another.get();
    flights.share(7, Deadline.in(Duration.ofSeconds(30)), this::slow);
    assertThat(lookups.get()).isEqualTo(3);
  }

  @Test
  void whoWaitsForALookupOfAnotherDoesSoNoLongerThanItsOwnTime() throws Exception {
    asked(7, Duration.ofSeconds(30), this::slow);
    untilUnderWay(1);
    assertThatThrownBy(() -> asked(7, Duration.ofMillis(20), this::slow).get())
        .hasCauseInstanceOf(ErrorResponseException.class)
        .hasMessageContaining("503");
    assertThat(lookups.get()).isEqualTo(1);
  }

  @Test
  void aFailureIsSharedTooAndTheNextRequestLooksUpAgain() {
    Supplier<Item> fails =
        () -> {
          throw Problems.notFound("item", 7);
        };
    Deadline deadline = Deadline.in(Duration.ofSeconds(30));
    assertThatThrownBy(() -> flights.share(7, deadline, fails)).hasMessageContaining("404");
    assertThat(flights.share(7, deadline, () -> SEVEN)).isEqualTo(SEVEN);
  }
}
