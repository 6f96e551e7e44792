package io.patternbench.cinema.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.cinema.messages.Request.Endpoint;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.AmqpRejectAndDontRequeueException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageBuilder;

class CodecTest {
  private final Codec codec = new Codec(new ObjectMapper());

  @Test
  void aRequestIsReadAsItWasWrittenByItsPublishedName() {
    Message message = codec.request("id", Request.of(Endpoint.LIST_RESERVATIONS), Names.TO_BROKER);
    assertThat(message.getBody()).asString().contains("\"endpoint\":\"/reservation/list\"");
    assertThat(codec.request(message)).isEqualTo(Request.of(Endpoint.LIST_RESERVATIONS));
    assertThat(Codec.correlationId(message)).isEqualTo("id");
  }

  @Test
  void anAnswerGoesToTheBrokerThatAskedAndAsPublishedWhereThereIsOne() {
    Request list = Request.of(Endpoint.LIST_MOVIES);
    assertThat(Codec.replyTo(codec.request("id", list, "response.from.cinema-2")))
        .isEqualTo("response.from.cinema-2");
    Message published = codec.request("id", list, Names.TO_BROKER);
    assertThat(published.getMessageProperties().getReplyTo()).isNull();
    assertThat(Codec.replyTo(published)).isEqualTo(Names.TO_BROKER);
  }

  @Test
  void anAnswerIsReadAsItWasWritten() {
    Answer answer = codec.answer(codec.answer("id", "ucd", 422, Map.of("status", 422)));
    assertThat(answer.cinema()).isEqualTo("ucd");
    assertThat(answer.status()).isEqualTo(422);
    assertThat(answer.failed()).isTrue();
    assertThat(answer.json()).asString().isEqualTo("{\"status\":422}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "null", "1", "[1", "{}{}", "x"})
  void whatIsNoDocumentIsNeitherARequestNorAnAnswer(String body) {
    Message message =
        MessageBuilder.withBody(body.getBytes())
            .setHeader(Codec.CINEMA, "ucd")
            .setHeader(Codec.STATUS, 200)
            .build();
    assertThatThrownBy(() -> codec.request(message))
        .isInstanceOf(AmqpRejectAndDontRequeueException.class);
    assertThatThrownBy(() -> codec.answer(message))
        .isInstanceOf(AmqpRejectAndDontRequeueException.class);
  }
}
