package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicaTest {
  @ParameterizedTest
  @ValueSource(strings = {"-1", "-2", "-9"})
  void everyIdOfOneOfSeveralBrokersBeginsWithItsNumberAndIsDrawnForTheRest(String suffix) {
    Replica replica = new Replica(suffix);
    assertThat(Stream.generate(replica::newId).limit(100))
        .doesNotHaveDuplicates()
        .allSatisfy(id -> assertThat(id.toString()).startsWith(suffix.substring(1)))
        .allSatisfy(id -> assertThat(id.version()).isEqualTo(4));
  }

  @Test
  void theIdsOfTheOnlyBrokerBeginWithAnything() {
    Replica alone = new Replica("");
    assertThat(
            Stream.generate(alone::newId).limit(1000).map(UUID::toString).map(id -> id.charAt(0)))
        .contains('0', '1', '9', 'f');
  }

  @Test
  void answersComeToTheQueueAsPublishedOrToOneOfTheBrokersOwn() {
    assertThat(new Replica(""))
        .returns("responseQueue", Replica::queue)
        .returns("response.from.cinema", Replica::key);
    assertThat(new Replica("-2"))
        .returns("responseQueue-2", Replica::queue)
        .returns("response.from.cinema-2", Replica::key);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "-", "-0", "-10", "-a", "- 1"})
  void whatIsNoNumberOfABrokerIsRefused(String suffix) {
    assertThatThrownBy(() -> new Replica(suffix)).hasMessageContaining("expected nothing, or -1");
  }
}
