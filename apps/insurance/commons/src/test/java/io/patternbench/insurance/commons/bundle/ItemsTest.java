package io.patternbench.insurance.commons.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.bundle.Bundle.Item;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.web.ErrorResponseException;

class ItemsTest {
  private final List<List<String>> portions = new ArrayList<>();

  @Test
  void aFailedItemFailsNoOther() {
    Bundle<Object> answer = items("a", "bad", "c").each(ItemsTest::upper).bundle();
    assertThat(statuses(answer)).containsExactly(200, 400, 200);
    assertThat(answer.items()).extracting(Item::id).containsExactly("a", "bad", "c");
    assertThat(answer.items().get(2).body()).isEqualTo("C");
  }

  @Test
  void aStepLeavesOutWhatHasFailed() {
    items("a", "bad", "c").each(ItemsTest::upper).inPortions(BundleReads.BATCHED, this::seen);
    assertThat(portions).containsExactly(List.of("A", "C"));
  }

  @Test
  void oneByOneEveryItemIsAPortion() {
    items("a", "b").inPortions(BundleReads.ONE_BY_ONE, this::seen);
    assertThat(portions).containsExactly(List.of("a"), List.of("b"));
  }

  @Test
  void aPortionFailsAsAWhole() {
    Items<String> answered =
        items("a", "bad", "c").inPortions(BundleForward.ONCE, ItemsTest::allUpper);
    assertThat(statuses(answered.bundle())).containsExactly(400, 400, 400);
  }

  @Test
  void withoutGoodItemsThereIsNoPortion() {
    items("bad").each(ItemsTest::upper).inPortions(BundleReads.BATCHED, this::seen);
    assertThat(portions).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(BundleReads.class)
  void whatIsNotFoundIsMissingAloneAndTheSameIdMayStandTwice(BundleReads reads) {
    Bundle<Object> answer =
        items("a", "x", "a")
            .find(reads, id -> id, this::twoLetters, id -> Problems.notFound("thing", id))
            .each(Items.Found::found)
            .bundle();
    assertThat(statuses(answer)).containsExactly(200, 404, 200);
    assertThat(answer.items().get(2).body()).isEqualTo("aa");
  }

  @Test
  void whatNobodyForesawIsOurFaultAndTellsNothing() {
    Bundle<Object> answer = items("a").each(a -> List.of().get(7)).bundle();
    assertThat(statuses(answer)).containsExactly(500);
    assertThat(answer.items().get(0).body().toString()).doesNotContain("7");
  }

  @Test
  void theOnlyItemIsItsValueOrItsProblem() {
    assertThat(Items.one("a").each(ItemsTest::upper).only()).isEqualTo("A");
    assertThatThrownBy(() -> Items.one("bad").each(ItemsTest::upper).only())
        .isInstanceOf(ErrorResponseException.class);
  }

  @Test
  void aBundleThatFailedWhollyByTheServersFaultIsNoSuccess() {
    assertThat(status(List.of(503, 502))).isEqualTo(503);
    assertThat(status(List.of(503, 200))).isEqualTo(200);
    assertThat(status(List.of(404, 403))).isEqualTo(200);
  }

  private static int status(List<Integer> statuses) {
    return Bundle.of(statuses.stream().map(s -> new Item<>("a", s, null)).toList())
        .response()
        .getStatusCode()
        .value();
  }

  private static Items<String> items(String... ids) {
    return Items.of(List.of(ids), id -> id);
  }

  private static String upper(String item) {
    if (item.equals("bad")) {
      throw Problems.badRequest("bad");
    }
    return item.toUpperCase();
  }

  private static List<String> allUpper(List<String> items) {
    return items.stream().map(ItemsTest::upper).toList();
  }

  private List<String> seen(List<String> portion) {
    portions.add(portion);
    return portion;
  }

  private Map<String, String> twoLetters(List<String> ids) {
    return ids.stream()
        .filter(id -> !id.equals("x"))
        .distinct()
        .collect(Collectors.toMap(id -> id, id -> id + id));
  }

  private static List<Integer> statuses(Bundle<Object> answer) {
    assertThat(answer.size()).isEqualTo(answer.items().size());
    return answer.items().stream().map(Item::status).toList();
  }
}
