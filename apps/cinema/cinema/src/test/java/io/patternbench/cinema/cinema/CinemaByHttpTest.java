package io.patternbench.cinema.cinema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.hasSize;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.apps.testing.MariaDb;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.actuate.observability.AutoConfigureObservability;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;

/** A cinema as the gateway sees it. */
@MariaDb("cinema_cineworld")
@SpringBootTest(properties = {"eureka.client.enabled=false", "LIST_LIMIT=3"})
@AutoConfigureMockMvc
@AutoConfigureObservability(tracing = false)
class CinemaByHttpTest {
  @Autowired private MockMvc cinema;
  @Autowired private JdbcClient database;
  @Autowired private StoredReservations stored;

  @BeforeEach
  void empty() {
    database.sql("TRUNCATE reservations").update();
  }

  @Test
  void moviesAreThoseThatWereLoadedAtTheStart() throws Exception {
    cinema
        .perform(get("/movie/list"))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$.cinemaName").value("cineworld"))
        .andExpect(jsonPath("$.movies[*].id", contains("CNW001", "CNW002", "CNW003")))
        .andExpect(jsonPath("$.movies[1].showTimes", contains("11:00", "15:00", "19:00")));
  }

  @ParameterizedTest
  @CsvSource({"name, 3, 0", "title, 0, 3", "both, 3, 3"})
  void moviesAreWrittenInTheVersionThatIsSet(String fields, int names, int titles)
      throws Exception {
    write(fields);
    try {
      cinema
          .perform(get("/movie/list"))
          .andExpect(jsonPath("$.movies[*].name", hasSize(names)))
          .andExpect(jsonPath("$.movies[*].title", hasSize(titles)));
    } finally {
      write("name");
    }
  }

  private void write(String fields) throws Exception {
    cinema
        .perform(
            post("/actuator/movies")
                .contentType(MediaType.APPLICATION_JSON)
                .content("{\"fields\": \"%s\"}".formatted(fields)))
        .andExpect(status().isOk());
  }

  @ParameterizedTest
  @CsvSource({
    "'{\"showTime\": \"15:00\"}',1",
    "'{\"name\": \"half open\"}',1",
    "'{\"name\": \"half open\", \"showTime\": \"10:00\"}',0",
    "'{}',3",
  })
  void moviesAreFoundByNameAndByShowTime(String query, int fitting) throws Exception {
    cinema
        .perform(post("/movie/find").contentType(MediaType.APPLICATION_JSON).content(query))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$.movies.length()").value(fitting));
  }

  @Test
  void aReservationIsMadeAndListed() throws Exception {
    make(Reservations.JANE, "first")
        .andExpect(status().isCreated())
        .andExpect(jsonPath("$.id").isString())
        .andExpect(jsonPath("$.date").value("2022-04-15"));
    cinema
        .perform(get("/reservation/list"))
        .andExpect(jsonPath("$.length()").value(1))
        .andExpect(jsonPath("$[0].clientName").value("Jane Doe"))
        .andExpect(jsonPath("$[0].amount").value(30.0));
  }

  @Test
  void aListHasTheNewestReservationsInTheOrderInWhichTheyWereMade() throws Exception {
    for (int tickets = 1; tickets <= 5; tickets++) {
      make(Reservations.JANE.replace("\"tickets\": 2", "\"tickets\": " + tickets), "k" + tickets);
    }
    cinema.perform(get("/reservation/list")).andExpect(jsonPath("$[*].tickets", contains(3, 4, 5)));
  }

  @Test
  void aKeyGivesTheSameReservationOnceAndRefusesAnother() throws Exception {
    String first = make(Reservations.JANE, "k").andReturn().getResponse().getContentAsString();
    String again = make(Reservations.JANE, "k").andReturn().getResponse().getContentAsString();
    assertThat(again).isEqualTo(first);
    make(Reservations.JANE.replace("Jane", "John"), "k")
        .andExpect(status().isUnprocessableEntity());
    assertThat(count()).isEqualTo(1);
  }

  @Test
  void anIdThatAClientSendsDoesNotCount() throws Exception {
    String sent = "00000000-0000-4000-8000-000000000000";
    String body = Reservations.JANE.replaceFirst("\\{", "{\"id\": \"" + sent + "\", ");
    String answer = make(body, "k").andReturn().getResponse().getContentAsString();
    assertThat(answer).contains("Jane Doe").doesNotContain(sent);
  }

  @Test
  void aMovieThatIsNotShownIsRefusedAndNamed() throws Exception {
    make(Reservations.JANE.replace("CNW001", "UCD001"), "k")
        .andExpect(status().isUnprocessableEntity())
        .andExpect(jsonPath("$.detail").value("cineworld shows no movie UCD001"));
    assertThat(count()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"1970-01-01", "2999-12-31"})
  void noClockSaysWhichDatesThereAre(String date) throws Exception {
    make(Reservations.JANE.replace("2022-04-15", date), "k").andExpect(status().isCreated());
  }

  @Test
  void allThatIsWrongIsSaidAtOnce() throws Exception {
    make("{\"tickets\": 101}", "k")
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.errors.length()").value(8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"61", "-1", "x"})
  void aDelayThatCannotBeIsABadRequest(String seconds) throws Exception {
    cinema.perform(get("/reservation/delay/" + seconds)).andExpect(status().isBadRequest());
    cinema.perform(get("/movie/delay/" + seconds)).andExpect(status().isBadRequest());
  }

  @Test
  void aDelayOfNothingIsAnsweredAtOnce() throws Exception {
    cinema.perform(get("/reservation/delay/0")).andExpect(status().isOk());
  }

  @Test
  void howSlowACinemaIsChangesWhileItRuns() throws Exception {
    delay("1ms").andExpect(status().isOk()).andExpect(jsonPath("$.delay").value("PT0.001S"));
    delay("2m").andExpect(status().isBadRequest());
    cinema.perform(get("/movie/list")).andExpect(status().isOk());
    delay("0ms").andExpect(status().isOk());
  }

  private ResultActions delay(String delay) throws Exception {
    return cinema.perform(
        post("/actuator/delay")
            .contentType(MediaType.APPLICATION_JSON)
            .content("{\"delay\": \"" + delay + "\"}"));
  }

  @Test
  void prometheusSeesHowManyReservationsAreStored() throws Exception {
    make(Reservations.JANE, "k");
    stored.count();
    String series =
        cinema.perform(get("/actuator/prometheus")).andReturn().getResponse().getContentAsString();
    assertThat(series).containsPattern("(?m)^cinema_reservations_stored(\\{.*})? 1\\.0$");
  }

  private ResultActions make(String body, String key) throws Exception {
    return cinema.perform(
        post("/reservation/make")
            .header("Idempotency-Key", key)
            .contentType(MediaType.APPLICATION_JSON)
            .content(body));
  }

  private long count() {
    return database.sql("SELECT COUNT(*) FROM reservations").query(Long.class).single();
  }
}
