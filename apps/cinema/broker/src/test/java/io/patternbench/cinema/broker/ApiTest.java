package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.verifyNoInteractions;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.asyncDispatch;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.header;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.request;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.apps.commons.ProblemAdvice;
import io.patternbench.cinema.broker.Levels.Eviction;
import io.patternbench.cinema.broker.Levels.Fetch;
import io.patternbench.cinema.messages.Answer;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.MessagingProperties;
import io.patternbench.cinema.messages.NotSentException;
import io.patternbench.cinema.messages.Publish;
import io.patternbench.cinema.messages.Publisher;
import io.patternbench.cinema.messages.Request;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.ArgumentCaptor;
import org.springframework.amqp.core.Message;
import org.springframework.http.MediaType;
import org.springframework.http.converter.json.Jackson2ObjectMapperBuilder;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.MvcResult;
import org.springframework.test.web.servlet.ResultActions;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.util.unit.DataSize;

/** The wire of the broker, whose way to the cinemas is under the test's hand. */
class ApiTest {
  private static final String MOVIES = "/api/movie/list";
  private static final String RESERVATION = "/api/cinema/cineworld/reservation";
  private static final String JANE =
      """
      {"clientName": "Jane Doe", "clientEmail": "jane.doe@example.org", "movieId": "CNW001",
       "date": "2022-04-15", "showTime": "18:00", "tickets": 2, "ticketType": "Gold",
       "amount": 30.00}""";

  private final FetchSettings settings =
      new FetchSettings(
          new BrokerProperties(
              DataSize.ofKilobytes(100),
              Fetch.AT_ONCE,
              Duration.ofMillis(1),
              Eviction.AGE,
              Duration.ofSeconds(60)));
  private final AskingSettings asking = new AskingSettings();
  private final ObjectMapper json = Jackson2ObjectMapperBuilder.json().build();
  private final OpenRequests open =
      new OpenRequests(100_000, settings, UUID::randomUUID, System::nanoTime);
  private final Publisher publisher = mock(Publisher.class);
  private final Streams streams = new Streams();
  private final MockMvc broker = broker();

  private MockMvc broker() {
    List<String> cinemas = List.of("cineworld", "dundrum", "ucd");
    Asking sender =
        new Asking(
            open,
            publisher,
            new Codec(json),
            asking,
            new Replica(""),
            new MessagingProperties(cinemas, Publish.CONFIRMED, Duration.ofSeconds(5)));
    Fetching fetching = new Fetching(settings, streams);
    return MockMvcBuilders.standaloneSetup(
            new MovieController(sender, fetching), new ReservationController(sender, fetching))
        .setControllerAdvice(new ProblemAdvice())
        .build();
  }

  @AfterEach
  void end() {
    streams.destroy();
  }

  @Test
  void aRequestIsAnsweredWithACorrelationIdOf36CharactersWhateverIsAccepted() throws Exception {
    ResultActions answer =
        broker
            .perform(get(MOVIES).accept(MediaType.APPLICATION_JSON))
            .andExpect(status().isOk())
            .andExpect(content().contentType(MediaType.TEXT_PLAIN));
    assertThat(text(answer)).hasSize(36);
  }

  @Test
  void aListIsPublishedOnceOrSentToEachCinemaUnderOneId() throws Exception {
    String published = text(broker.perform(get(MOVIES)));
    asking.change(AskingSettings.Distribution.EACH);
    String sent = text(broker.perform(get(MOVIES)));
    ArgumentCaptor<String> keys = ArgumentCaptor.forClass(String.class);
    ArgumentCaptor<Message> messages = ArgumentCaptor.forClass(Message.class);
    verify(publisher, times(4)).send(keys.capture(), messages.capture());
    assertThat(keys.getAllValues())
        .containsExactly(
            "request.to.cinema",
            "request.to.cinema.cineworld",
            "request.to.cinema.dundrum",
            "request.to.cinema.ucd");
    assertThat(messages.getAllValues())
        .extracting(Codec::correlationId)
        .containsExactly(published, sent, sent, sent);
  }

  @ParameterizedTest
  @CsvSource({
    "at_once,0,500",
    "at_once,2,200",
    "at_once,3,200",
    "until_ready,0,202",
    "until_ready,2,202",
    "until_ready,3,200",
  })
  void howAListIsFetchedSaysWhatItsStatusIs(String fetch, int come, int expected) throws Exception {
    String id = text(broker.perform(get(MOVIES)));
    List.of("ucd", "dundrum", "cineworld").subList(0, come).forEach(c -> answer(id, c, 200));
    ResultActions answer =
        broker.perform(get(MOVIES + "/" + id + "?fetch=" + fetch)).andExpect(status().is(expected));
    if (expected != 500) {
      answer
          .andExpect(header().string("Answers", come + "/3"))
          .andExpect(jsonPath("$.length()").value(come));
    }
  }

  @Test
  void theSettingSaysHowAnswersAreFetchedWhereTheRequestDoesNot() throws Exception {
    String id = text(broker.perform(get(MOVIES)));
    broker.perform(get(MOVIES + "/" + id)).andExpect(status().isInternalServerError());
    settings.change(Fetch.UNTIL_READY, null, null, null);
    broker
        .perform(get(MOVIES + "/" + id))
        .andExpect(status().isAccepted())
        .andExpect(header().string("Retry-After", "1"));
  }

  @Test
  void anUnknownWayOfFetchingIsNamedWithThoseThatThereAre() throws Exception {
    String id = text(broker.perform(get(MOVIES)));
    broker
        .perform(get(MOVIES + "/" + id + "?fetch=soon"))
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.detail").value(containsString("long_poll")));
  }

  @Test
  void aLongPollIsHeldUntilTheLastAnswer() throws Exception {
    String id = text(broker.perform(get(MOVIES)));
    settings.change(null, Duration.ofMinutes(1), null, null);
    MvcResult held =
        broker
            .perform(get(MOVIES + "/" + id + "?fetch=long_poll"))
            .andExpect(request().asyncStarted())
            .andReturn();
    List.of("ucd", "dundrum", "cineworld").forEach(cinema -> answer(id, cinema, 200));
    broker
        .perform(asyncDispatch(held))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$.length()").value(3));
  }

  @ParameterizedTest
  @ValueSource(strings = {"not-a-uuid", "00000000-0000-4000-8000-000000000000"})
  void anIdThatNobodyGotIsNotFound(String id) throws Exception {
    broker
        .perform(get(MOVIES + "/" + id))
        .andExpect(status().isNotFound())
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }

  @Test
  void anIdOfAnotherClientIsNotFound() throws Exception {
    String id = text(broker.perform(get(MOVIES).header("Client-Token", "0123456789abcdef")));
    answer(id, "ucd", 200);
    broker.perform(get(MOVIES + "/" + id)).andExpect(status().isNotFound());
    broker
        .perform(get(MOVIES + "/" + id).header("Client-Token", "another client's"))
        .andExpect(status().isNotFound());
    broker
        .perform(get(MOVIES + "/" + id).header("Client-Token", "0123456789abcdef"))
        .andExpect(status().isOk());
  }

  @Test
  void aTokenThatCouldBeGuessedIsRefused() throws Exception {
    broker
        .perform(get(MOVIES).header("Client-Token", "short"))
        .andExpect(status().isBadRequest())
        .andExpect(
            jsonPath("$.detail").value("Client-Token: expected 16 to 128 characters, got 5"));
  }

  @Test
  void anIdIsFetchedWhereItWasAsked() throws Exception {
    String id = text(make(JANE, "k"));
    answer(id, "cineworld", 200);
    broker.perform(get(RESERVATION + "/make/" + id)).andExpect(status().isOk());
    broker.perform(get(RESERVATION + "/list/" + id)).andExpect(status().isNotFound());
    broker.perform(get(MOVIES + "/" + id)).andExpect(status().isNotFound());
  }

  @Test
  void aKeyGivesTheSameReservationUnderDifferentCorrelationIds() throws Exception {
    String first = text(make(JANE, "k"));
    String second = text(make(JANE, "k"));
    assertThat(first).isNotEqualTo(second);
    ArgumentCaptor<Message> sent = ArgumentCaptor.forClass(Message.class);
    verify(publisher, times(2)).send(eq("request.to.cinema.cineworld"), sent.capture());
    assertThat(sent.getAllValues()).extracting(Codec::correlationId).containsExactly(first, second);
    byte[] body = sent.getAllValues().get(0).getBody();
    assertThat(sent.getAllValues().get(1).getBody()).isEqualTo(body);
    assertThat(json.readValue(body, Request.class).body().id())
        .isNotEqualTo(UUID.fromString(first));
  }

  @Test
  void whatIsWrongWithAReservationIsSaidAtOnceAndNothingIsSent() throws Exception {
    String bad = JANE.replace("18:00", "25:00").replace("\"tickets\": 2", "\"tickets\": 0");
    make(bad, "k")
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.errors.length()").value(2));
    make("{not json", "k")
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.detail").value("the body is not JSON"));
    verifyNoInteractions(publisher);
  }

  @Test
  void aCinemaThatDoesNotExistIsNamedWithThoseThatDo() throws Exception {
    broker
        .perform(get("/api/cinema/elsewhere/reservation/list"))
        .andExpect(status().isNotFound())
        .andExpect(jsonPath("$.detail").value(containsString("cineworld, dundrum, ucd")));
  }

  @Test
  void whatACinemaRefusesIsTheStatusOfTheFetch() throws Exception {
    String id = text(make(JANE, "k"));
    answer(id, "cineworld", 422);
    broker
        .perform(get(RESERVATION + "/make/" + id))
        .andExpect(status().isUnprocessableEntity())
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }

  @Test
  void withoutRabbitMqARequestIsNotAcceptedAndTakesNoMemory() throws Exception {
    doThrow(new NotSentException("RabbitMQ does not answer", null))
        .when(publisher)
        .send(any(), any());
    broker.perform(get(MOVIES)).andExpect(status().isServiceUnavailable());
    assertThat(open.size()).isZero();
  }

  @Test
  void withAllMemoryInUseARequestIsRefused() throws Exception {
    for (int i = 0; i < 100; i++) {
      broker.perform(get(MOVIES));
    }
    broker
        .perform(get(MOVIES))
        .andExpect(status().isServiceUnavailable())
        .andExpect(jsonPath("$.detail").value(containsString("requests are open")));
  }

  private ResultActions make(String body, String key) throws Exception {
    return broker.perform(
        post(RESERVATION + "/make")
            .header("Idempotency-Key", key)
            .contentType(MediaType.APPLICATION_JSON)
            .content(body));
  }

  private void answer(String id, String cinema, int status) {
    Answer answer = new Answer(cinema, status, "{}".getBytes());
    assertThat(open.answered(UUID.fromString(id), answer)).isTrue();
  }

  private static String text(ResultActions answer) throws Exception {
    return answer.andReturn().getResponse().getContentAsString();
  }
}
