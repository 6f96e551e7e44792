package io.patternbench.cinema.messages;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.core.Binding;
import org.springframework.amqp.core.Declarable;
import org.springframework.amqp.core.Declarables;
import org.springframework.amqp.core.Queue;

/** The queues that both sides declare. */
class MessagesTest {
  private static final MessagingProperties PROPERTIES =
      new MessagingProperties(List.of("ucd", "dundrum"), Publish.CONFIRMED, Duration.ofSeconds(1));

  private final Declarables declared = new Messages().declarables(PROPERTIES);

  @Test
  void everyQueueOutlivesARestartAndWhatNobodyCanTakeInGoesToTheUnreadableOnes() {
    Collection<Queue> queues = declared.getDeclarablesByType(Queue.class);
    assertThat(queues)
        .extracting(Queue::getName)
        .containsExactlyInAnyOrder(
            "responseQueue",
            "cinema.unreadable",
            "requestQueue-cinema-ucd-service",
            "requestQueue-cinema-dundrum-service");
    assertThat(queues).allMatch(Queue::isDurable);
    Map<String, Object> toUnreadable =
        Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", "cinema.unreadable");
    assertThat(queues)
        .filteredOn(queue -> !queue.getName().equals("cinema.unreadable"))
        .allSatisfy(queue -> assertThat(queue.getArguments()).isEqualTo(toUnreadable));
  }

  @Test
  void aCinemaHearsWhatIsForAllAndWhatIsForItselfAndTheBrokerHearsTheAnswers() {
    assertThat(declared.getDeclarablesByType(Binding.class))
        .extracting(each -> each.getRoutingKey() + " -> " + each.getDestination())
        .containsExactlyInAnyOrder(
            "response.from.cinema -> responseQueue",
            "request.to.cinema -> requestQueue-cinema-ucd-service",
            "request.to.cinema.ucd -> requestQueue-cinema-ucd-service",
            "request.to.cinema -> requestQueue-cinema-dundrum-service",
            "request.to.cinema.dundrum -> requestQueue-cinema-dundrum-service");
    assertThat(declared.getDeclarables()).allMatch(Declarable::shouldDeclare);
  }
}
