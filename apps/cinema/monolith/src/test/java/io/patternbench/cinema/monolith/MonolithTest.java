package io.patternbench.cinema.monolith;

import static org.hamcrest.Matchers.contains;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.apps.testing.MariaDbServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;

/** The monolith answers what the services answer behind their gateway. */
@SpringBootTest
@AutoConfigureMockMvc
class MonolithTest {
  private static final MariaDbServer DATABASES = new MariaDbServer();
  private static final String JANE =
      """
      {"clientName": "Jane Doe", "clientEmail": "jane.doe@example.org", "movieId": "CNW001",
       "date": "2022-04-15", "showTime": "18:00", "tickets": 2, "ticketType": "Gold",
       "amount": 30.00}""";

  @Autowired private MockMvc monolith;

  @DynamicPropertySource
  static void databases(DynamicPropertyRegistry registry) {
    for (String cinema : new String[] {"cineworld", "dundrum", "ucd"}) {
      String url = DATABASES.database("cinema_" + cinema);
      registry.add(cinema.toUpperCase() + "_URL", () -> url);
      registry.add(cinema.toUpperCase() + "_USER", () -> MariaDbServer.USER);
      registry.add(cinema.toUpperCase() + "_PASSWORD", () -> MariaDbServer.PASSWORD);
    }
  }

  @AfterAll
  static void stop() {
    DATABASES.close();
  }

  @Test
  void aListHasTheMoviesOfAllCinemas() throws Exception {
    monolith
        .perform(get("/api/movie/list"))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "dundrum", "ucd")));
    find("/api/movie/find").andExpect(jsonPath("$.length()").value(3));
    find("/cinema/ucd/movie/find").andExpect(jsonPath("$.cinemaName").value("ucd"));
    monolith
        .perform(get("/cinema/cineworld/movie/list"))
        .andExpect(jsonPath("$.movies[*].id", contains("CNW001", "CNW002", "CNW003")));
  }

  @Test
  void aReservationIsMadeOnceAtItsCinemaOnly() throws Exception {
    make("cineworld", "k").andExpect(status().isCreated());
    make("cineworld", "k").andExpect(status().isCreated());
    reservations("cineworld", 1);
    reservations("dundrum", 0);
    make("dundrum", "k").andExpect(status().isUnprocessableEntity());
  }

  @Test
  void aCinemaThatIsNotThereIsAProblemThatSaysSo() throws Exception {
    monolith
        .perform(get("/cinema/odeon/movie/list"))
        .andExpect(status().isNotFound())
        .andExpect(jsonPath("$.detail").value("there is no cinema odeon"));
  }

  private ResultActions find(String path) throws Exception {
    return monolith.perform(
        post(path).contentType(MediaType.APPLICATION_JSON).content("{\"showTime\": \"18:00\"}"));
  }

  private ResultActions make(String cinema, String key) throws Exception {
    return monolith.perform(
        post("/cinema/" + cinema + "/reservation/make")
            .contentType(MediaType.APPLICATION_JSON)
            .header("Idempotency-Key", key)
            .content(JANE));
  }

  private void reservations(String cinema, int count) throws Exception {
    monolith
        .perform(get("/cinema/" + cinema + "/reservation/list"))
        .andExpect(jsonPath("$.length()").value(count));
  }
}
