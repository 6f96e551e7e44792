package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.patternbench.cinema.broker.Levels.Eviction;
import io.patternbench.cinema.broker.Levels.Fetch;
import io.patternbench.cinema.messages.Answer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.util.unit.DataSize;
import org.springframework.web.ErrorResponseException;

class OpenRequestsTest {
  private static final List<String> CINEMAS = List.of("cineworld", "dundrum", "ucd");
  private static final String SUBJECT = "movies";

  private final FetchSettings settings =
      new FetchSettings(
          new BrokerProperties(
              DataSize.ofMegabytes(64),
              Fetch.AT_ONCE,
              Duration.ofSeconds(5),
              Eviction.AGE,
              Duration.ofSeconds(60)));
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // the clock wraps around
  private final OpenRequests open = of(10_000_000);

  private OpenRequests of(long limit) {
    return new OpenRequests(limit, settings, UUID::randomUUID, nanos::get);
  }

  @Test
  void answersAreThereInTheOrderInWhichTheyCome() {
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    answer(open, request, "ucd", json(10));
    answer(open, request, "cineworld", json(10));
    assertThat(request.answers().come())
        .extracting(Answer::cinema)
        .containsExactly("ucd", "cineworld");
    assertThat(request.answers().counted()).isEqualTo("2/3");
  }

  @Test
  void anAnswerThatComesTwiceOrFromSomebodyWhoWasNotAskedCountsOnce() {
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    answer(open, request, "ucd", json(10));
    answer(open, request, "ucd", json(10));
    answer(open, request, "elsewhere", json(10));
    assertThat(request.answers().counted()).isEqualTo("1/3");
  }

  @Test
  void aLargeAnswerThatNobodyExpectsTakesNoMemory() {
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    answer(open, request, "ucd", json(1_000_000));
    long taken = open.bytes();
    answer(open, request, "ucd", json(1_000_000));
    answer(open, request, "elsewhere", json(1_000_000));
    assertThat(open.bytes()).isEqualTo(taken);
  }

  @Test
  void anUnknownIdHasNobodyWhoWaits() {
    Answer answer = new Answer("ucd", 200, json(10));
    assertThat(open.answered(UUID.randomUUID(), answer)).isFalse();
  }

  @Test
  void anIdIsKnownOnlyToTheClientThatItIsBoundToAndWhereItWasAsked() {
    OpenRequest bound = open.open(SUBJECT, CINEMAS, "a client's own secret");
    assertThat(open.find(bound.id(), SUBJECT, "a client's own secret")).isPresent();
    assertThat(open.find(bound.id(), SUBJECT, "another client's secret")).isEmpty();
    assertThat(open.find(bound.id(), SUBJECT, null)).isEmpty();
    assertThat(open.find(bound.id(), "another subject", "a client's own secret")).isEmpty();
  }

  @Test
  void withoutABindingTheIdIsEnough() {
    OpenRequest published = open.open(SUBJECT, CINEMAS, null);
    assertThat(open.find(published.id(), SUBJECT, null)).isPresent();
    assertThat(open.find(published.id(), SUBJECT, "a client's own secret")).isPresent();
  }

  @Test
  void aRequestIsForgottenWhenItIsTooOldAndNotBefore() {
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    nanos.addAndGet(Duration.ofSeconds(60).toNanos() - 1);
    assertThat(open.find(request.id(), SUBJECT, null)).isPresent();
    nanos.addAndGet(1);
    assertThat(open.find(request.id(), SUBJECT, null)).isEmpty();
    assertThat(open.bytes()).isZero();
  }

  @Test
  void withoutEvictionNothingIsForgotten() {
    settings.change(null, null, Eviction.NONE, null);
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    nanos.addAndGet(Duration.ofDays(100).toNanos());
    assertThat(open.find(request.id(), SUBJECT, null)).isPresent();
  }

  @ParameterizedTest
  @EnumSource(Eviction.class)
  void aHundredThousandOpenRequestsStayWithinTheMemoryAndTheAcceptedOnesAreKept(Eviction eviction) {
    settings.change(null, null, eviction, null);
    List<OpenRequest> accepted = new ArrayList<>();
    int refused = 0;
    for (int i = 0; i < 100_000; i++) {
      try {
        accepted.add(open.open(SUBJECT, CINEMAS, null));
      } catch (ErrorResponseException e) {
        assertThat(e.getStatusCode().value()).isEqualTo(503);
        refused++;
      }
    }
    assertThat(accepted.size() + refused).isEqualTo(100_000);
    assertThat(open.bytes()).isBetween(9_990_000L, 10_000_000L);
    accepted.forEach(request -> CINEMAS.forEach(c -> answer(open, request, c, json(400))));
    assertThat(accepted).allMatch(request -> request.answers().complete());
    assertThat(open.bytes()).isLessThanOrEqualTo(10_000_000);
  }

  @Test
  void asSoonAsOldOnesAreForgottenNewRequestsAreAccepted() {
    OpenRequests small = of(3_000);
    small.open(SUBJECT, CINEMAS, null);
    assertThatThrownBy(() -> small.open(SUBJECT, CINEMAS, null)).hasMessageContaining("503");
    nanos.addAndGet(Duration.ofSeconds(60).toNanos());
    assertThat(small.open(SUBJECT, CINEMAS, null)).isNotNull();
    assertThat(small.size()).isEqualTo(1);
  }

  @Test
  void anAnswerForWhichThereIsNoMemoryBecomesAFailureThatSaysSo() {
    OpenRequest request = open.open(SUBJECT, CINEMAS, null);
    answer(open, request, "ucd", json(9_000_000));
    answer(open, request, "dundrum", json(9_000_000));
    assertThat(request.answers().come().get(0).status()).isEqualTo(200);
    assertThat(request.answers().come().get(1).status()).isEqualTo(503);
    assertThat(request.answers().come().get(1).json()).asString().contains("9000000 bytes");
    assertThat(open.bytes()).isLessThanOrEqualTo(10_000_000);
    open.forget(request);
    assertThat(open.bytes()).isZero();
  }

  /** The bound is worth as much as its arithmetic: what is set aside has to be what is used. */
  @Test
  void whatIsSetAsideIsNotLessThanWhatTheHeapHolds() {
    OpenRequests many = of(1_000_000_000);
    long before = used();
    List<UUID> ids =
        IntStream.range(0, 20_000).mapToObj(i -> many.open(SUBJECT, CINEMAS, null).id()).toList();
    ids.forEach(id -> CINEMAS.forEach(c -> many.answered(id, new Answer(c, 200, json(400)))));
    long grown = used() - before;
    assertThat(many.size()).isEqualTo(ids.size());
    assertThat(grown).isLessThanOrEqualTo(many.bytes());
  }

  private static long used() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  @Test
  void aSettingThatCannotBeIsRefused() {
    assertThatThrownBy(() -> settings.change(null, Duration.ofHours(1), null, null))
        .hasMessageContaining("wait: expected 0ms to 5m");
    assertThatThrownBy(() -> settings.change(null, null, null, Duration.ZERO))
        .hasMessageContaining("keep: expected more than 0");
  }

  private static void answer(OpenRequests open, OpenRequest to, String cinema, byte[] json) {
    assertThat(open.answered(to.id(), new Answer(cinema, 200, json))).isTrue();
  }

  private static byte[] json(int length) {
    return new byte[length];
  }
}
