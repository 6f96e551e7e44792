package io.patternbench.cinema.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import io.patternbench.cinema.gateway.Services.Service;
import java.net.URI;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.actuate.observability.AutoConfigureObservability;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.cloud.circuitbreaker.resilience4j.ReactiveResilience4JCircuitBreakerFactory;
import org.springframework.cloud.client.circuitbreaker.ReactiveCircuitBreaker;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.json.JsonCompareMode;
import org.springframework.test.web.reactive.server.StatusAssertions;
import org.springframework.test.web.reactive.server.WebTestClient;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** The gateway before services that come, go, fail and are slow. */
@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
    properties = {"eureka.client.enabled=false", "READ_TIMEOUT=1s"})
@AutoConfigureObservability(tracing = false)
class GatewayTest {
  private static final String CINEWORLD = "cinema-cineworld-service";
  private static final String BREAKER = CINEWORLD + "-cb";
  private static final String LIST = "/cinema/cineworld/movie/list";

  @TestConfiguration
  static class Config {
    @Bean
    Services services() {
      return new Services();
    }
  }

  @Autowired private WebTestClient client;
  @Autowired private Services services;
  @Autowired private ReactiveResilience4JCircuitBreakerFactory breakers;
  @LocalServerPort private int port;
  private Service cineworld;

  @BeforeEach
  void asRunAndWithOneCinema() {
    change(
        Map.of(
            "breaker",
            true,
            "timeout",
            "30s",
            "window",
            100,
            "minimum",
            100,
            "rate",
            50,
            "wait",
            "60s",
            "probes",
            10,
            "statuses",
            "none"));
    option(
        Map.of(
            "cache",
            "0s",
            "authentication",
            "none",
            "aggregation",
            "aggregator",
            "calls",
            "sequential",
            "view",
            "whole",
            "missing",
            "fail"));
    cineworld = services.start(CINEWORLD);
  }

  @AfterEach
  void nobodyIsThere() {
    services.stopAll();
  }

  @Test
  void aPathLeadsToItsServiceByLogicalName() {
    services.start("aggregator-service");
    assertAnswer(LIST, 200, CINEWORLD + " " + LIST);
    assertAnswer("/api/movie/list", 200, "aggregator-service /api/movie/list");
  }

  @Test
  void aPathWithoutARouteIsAProblemThatSaysSo() {
    status("/cinema/unknown/movie/list").isNotFound();
    client
        .get()
        .uri("/nowhere")
        .exchange()
        .expectHeader()
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .expectBody()
        .jsonPath("$.status")
        .isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource({"GET,movie/list", "POST,reservation/make"})
  void whatTakesLongerThanTheTimeLimitFallsBackWhateverItsMethod(String method, String path) {
    change(Map.of("timeout", "50ms"));
    cineworld.answers = new CountDownLatch(1);
    client
        .method(HttpMethod.valueOf(method))
        .uri("/cinema/cineworld/" + path)
        .exchange()
        .expectStatus()
        .isEqualTo(500)
        .expectBody(String.class)
        .isEqualTo("Fallback: Circuit broken in cinema-cineworld-service!");
  }

  @Test
  void withoutBreakerAServiceThatIsTooSlowIsAGatewayTimeout() {
    change(Map.of("breaker", false, "timeout", "50ms"));
    cineworld.answers = new CountDownLatch(1);
    status(LIST).isEqualTo(504);
  }

  @Test
  void aServiceThatIsNotThereFallsBackAndIsUnavailableWithoutBreaker() {
    services.stopAll();
    status(LIST).isEqualTo(500);
    change(Map.of("breaker", false));
    status(LIST).isEqualTo(503);
  }

  @Test
  void aBreakerOpensAfterEnoughFailuresAndThenTheServiceIsLeftAlone() {
    change(Map.of("window", 4, "minimum", 4, "statuses", "503"));
    cineworld.status = 503;
    for (int call = 0; call < 4; call++) {
      status(LIST).isEqualTo(500);
    }
    cineworld.status = 200;
    status(LIST).isEqualTo(500);
    assertThat(cineworld.requests).hasValue(4);
  }

  @Test
  void aChangeClosesABreakerThatIsOpen() {
    aBreakerOpensAfterEnoughFailuresAndThenTheServiceIsLeftAlone();
    change(Map.of());
    status(LIST).isOk();
  }

  @Test
  void aRequestOnARouteFromBeforeAChangeDoesNotBringTheOldBreakerBack() {
    ReactiveCircuitBreaker before = breakers.create(BREAKER);
    change(Map.of("window", 7, "timeout", "20s"));
    before.run(Mono.empty()).block();
    assertThat(
            breakers.getCircuitBreakerRegistry().circuitBreaker(BREAKER).getCircuitBreakerConfig())
        .returns(7, CircuitBreakerConfig::getSlidingWindowSize);
    assertThat(breakers.getTimeLimiterRegistry().timeLimiter(BREAKER).getTimeLimiterConfig())
        .returns(Duration.ofSeconds(20), TimeLimiterConfig::getTimeoutDuration);
  }

  @Test
  void aHundredRequestsMayBeUnderWayAtATime() {
    Sinks.Empty<Void> answers = Sinks.empty();
    ReactiveCircuitBreaker breaker = breakers.create(BREAKER);
    List<CompletableFuture<Void>> requests =
        Stream.generate(() -> breaker.run(answers.asMono()).toFuture()).limit(100).toList();
    answers.tryEmitEmpty();
    assertThat(requests).allSatisfy(request -> assertThat(request).isCompleted());
  }

  @Test
  void aBreakerOfOneServiceDoesNotOpenThatOfAnother() {
    services.start("cinema-dundrum-service");
    aBreakerOpensAfterEnoughFailuresAndThenTheServiceIsLeftAlone();
    status("/cinema/dundrum/movie/list").isOk();
  }

  @Test
  void aFailureThatIsNoneOfTheStatusesIsPassedOn() {
    change(Map.of("window", 4, "minimum", 4, "statuses", "503,504"));
    cineworld.status = 500;
    for (int call = 0; call < 6; call++) {
      assertAnswer(LIST, 500, CINEWORLD + " " + LIST);
    }
  }

  @Test
  void whatIsKeptIsNotAskedForUntilTheSettingsChange() {
    option(Map.of("cache", "1h"));
    int asked = askUntilKept(LIST);
    assertAnswer(LIST, 200, CINEWORLD + " " + LIST);
    assertThat(cineworld.requests).hasValue(asked);
    option(Map.of());
    status(LIST).isOk();
    assertThat(cineworld.requests).hasValue(asked + 1);
    int askedAgain = askUntilKept(LIST);
    change(Map.of()); // as between rounds
    status(LIST).isOk();
    assertThat(cineworld.requests).hasValue(askedAgain + 1);
  }

  @Test
  void whatIsKeptIsAnsweredWhileTheServiceIsGone() {
    option(Map.of("cache", "1h"));
    askUntilKept(LIST);
    services.stopAll();
    status(LIST).isOk();
  }

  @Test
  void reservationsAndFailuresAreNotKept() {
    option(Map.of("cache", "1h"));
    String reservations = "/cinema/cineworld/reservation/list";
    status(reservations).isOk();
    status(reservations).isOk();
    assertThat(cineworld.requests).hasValue(2);
    cineworld.status = 503;
    status(LIST).isEqualTo(503);
    cineworld.status = 200;
    status(LIST).isOk();
  }

  @Test
  void withoutATokenNobodyIsLetInWhereTheGatewayChecks() {
    option(Map.of("authentication", "gateway"));
    client
        .get()
        .uri(LIST)
        .exchange()
        .expectStatus()
        .isUnauthorized()
        .expectHeader()
        .valueEquals("WWW-Authenticate", "Bearer")
        .expectHeader()
        .contentType(MediaType.APPLICATION_PROBLEM_JSON);
    assertThat(cineworld.requests).hasValue(0);
    statusWith("Bearer " + token()).isOk();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Bearer ", "Bearer x.y.z", "Basic YTpi", "bearer"})
  void whatIsNoTokenIsRefused(String authorization) {
    option(Map.of("authentication", "gateway"));
    statusWith(authorization).isUnauthorized();
  }

  @Test
  void aTokenThatSomebodyChangedIsRefused() {
    option(Map.of("authentication", "gateway"));
    String[] parts = token().split("\\.");
    String longer =
        Base64.getUrlEncoder().withoutPadding().encodeToString("{\"sub\":\"a\"}".getBytes());
    statusWith("Bearer " + parts[0] + "." + longer + "." + parts[2]).isUnauthorized();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/joined/list", "//api/movie/list", "/fallback/cinema-cineworld-service"})
  void noOtherPathLeadsAroundTheCheck(String path) {
    option(Map.of("authentication", "gateway"));
    URI raw = URI.create("http://127.0.0.1:" + port + path); // a template would be normalised
    client.get().uri(raw).exchange().expectStatus().is4xxClientError();
    assertThat(cineworld.requests).hasValue(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sequential", "parallel"})
  void theGatewayJoinsWhatTheCinemasAnswerInTheirOrder(String calls) {
    all("cineworld", "dundrum", "ucd");
    option(Map.of("aggregation", "gateway", "calls", calls));
    joined("cineworld", "dundrum", "ucd");
    client
        .post()
        .uri("/api/movie/find")
        .contentType(MediaType.APPLICATION_JSON)
        .bodyValue(Map.of("showTime", "18:00"))
        .exchange()
        .expectStatus()
        .isOk()
        .expectBody()
        .jsonPath("$.length()")
        .isEqualTo(3);
  }

  @Test
  void clientsOfAGatewayThatShowsNamesGetNoMoreOfAMovie() {
    services.start("cinema-dundrum-service").json = "{\"cinemaName\":\"dundrum\",\"movies\":[]}";
    services.start("cinema-ucd-service").json = "{\"cinemaName\":\"ucd\",\"movies\":[]}";
    cineworld.json =
        "{\"cinemaName\":\"cineworld\",\"movies\":"
            + "[{\"id\":\"CNW001\",\"name\":\"Half Open\",\"showTimes\":[\"10:00\"]}]}";
    option(Map.of("aggregation", "gateway", "view", "names"));
    client
        .get()
        .uri("/api/movie/list")
        .exchange()
        .expectStatus()
        .isOk()
        .expectBody()
        .json(
            "[{\"cinemaName\":\"cineworld\",\"movies\":[\"Half Open\"]},"
                + "{\"cinemaName\":\"dundrum\",\"movies\":[]},"
                + "{\"cinemaName\":\"ucd\",\"movies\":[]}]",
            JsonCompareMode.STRICT);
  }

  @Test
  void aCinemaThatFailsFailsTheJoinedListOrIsLeftOut() {
    change(Map.of("breaker", false));
    all("cineworld", "dundrum", "ucd");
    option(Map.of("aggregation", "gateway"));
    cineworld.status = 500;
    status("/api/movie/list").isEqualTo(502);
    option(Map.of("missing", "skip"));
    joined("dundrum", "ucd");
  }

  @Test
  void aCinemaThatIsTooSlowMakesTheJoinedListAGatewayTimeoutOrIsLeftOut() {
    change(Map.of("breaker", false));
    all("cineworld", "dundrum", "ucd");
    option(Map.of("aggregation", "gateway", "calls", "parallel"));
    cineworld.answers = new CountDownLatch(1);
    status("/api/movie/list").isEqualTo(504);
    option(Map.of("missing", "skip"));
    joined("dundrum", "ucd");
  }

  @Test
  void aJoinedListThatTakesLongerThanTheTimeLimitFallsBack() {
    change(Map.of("timeout", "50ms"));
    all("cineworld", "dundrum", "ucd");
    option(Map.of("aggregation", "gateway"));
    cineworld.answers = new CountDownLatch(1);
    status("/api/movie/list").isEqualTo(500);
  }

  @Test
  void aJoinedListIsKept() {
    all("cineworld", "dundrum", "ucd");
    option(Map.of("aggregation", "gateway", "cache", "1h"));
    int asked = askUntilKept("/api/movie/list");
    joined("cineworld", "dundrum", "ucd");
    assertThat(cineworld.requests).hasValue(asked);
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "gateway"})
  void itIsReadyOnceEveryServiceAnswersWhoeverIsLetIn(String authentication) {
    option(Map.of("authentication", authentication));
    services.start("cinema-dundrum-service");
    services.start("aggregator-service");
    status("/ready").isEqualTo(503);
    Service ucd = services.start("cinema-ucd-service");
    ucd.status = 500;
    status("/ready").isEqualTo(503);
    ucd.status = 200;
    status("/ready").isOk();
  }

  @Test
  void routesAreReadyOnceTheLastServiceIsThere() {
    services.start("aggregator-service");
    services.start("cinema-dundrum-service");
    status("/actuator/health/routes").isEqualTo(503);
    status("/actuator/health/readiness").isOk();
    services.start("cinema-ucd-service");
    status("/actuator/health/routes").isOk();
    status("/cinema/ucd/movie/list").isOk();
  }

  @ParameterizedTest
  @CsvSource({
    "rate,101,'rate: expected more than 0, at most 100, got 101.0'",
    "window,0,'window: expected 1 or more, got 0'",
    "timeout,0ms,'timeout: expected more than 0, got PT0S'",
    "statuses,all,'statuses: expected none, or such as 500,503, got all'",
  })
  void aSettingThatCannotBeIsRefusedAndNamed(String name, String value, String reason) {
    client
        .post()
        .uri("/actuator/breaker")
        .contentType(MediaType.APPLICATION_JSON)
        .bodyValue(Map.of(name, value))
        .exchange()
        .expectStatus()
        .isBadRequest()
        .expectBody(String.class)
        .value(body -> assertThat(body).contains(reason));
    status(LIST).isOk();
  }

  @Test
  void prometheusSeesRequestsAndBreakers() {
    status(LIST).isOk();
    client
        .get()
        .uri("/actuator/prometheus")
        .exchange()
        .expectBody(String.class)
        .value(
            series ->
                assertThat(series)
                    .contains("http_server_requests_seconds_count", "resilience4j_circuitbreaker"));
  }

  /**
   * Asks until an answer comes from what is kept, which is kept only after its last byte has gone.
   */
  private int askUntilKept(String path) {
    for (int tried = 0; tried < 100; tried++) {
      int before = cineworld.requests.get();
      status(path).isOk();
      if (cineworld.requests.get() == before) {
        return before;
      }
    }
    throw new AssertionError("a hundred answers, and none was kept: " + path);
  }

  private StatusAssertions status(String path) {
    return client.get().uri(path).exchange().expectStatus();
  }

  private void assertAnswer(String path, int status, String body) {
    client
        .get()
        .uri(path)
        .exchange()
        .expectStatus()
        .isEqualTo(status)
        .expectBody(String.class)
        .isEqualTo(body);
  }

  private void all(String... cinemas) {
    for (String cinema : cinemas) {
      String name = "cinema-" + cinema + "-service";
      Service service = name.equals(CINEWORLD) ? cineworld : services.start(name);
      service.json = "{\"cinemaName\":\"" + cinema + "\",\"movies\":[]}";
    }
  }

  private void joined(String... cinemas) {
    WebTestClient.BodyContentSpec body =
        client.get().uri("/api/movie/list").exchange().expectStatus().isOk().expectBody();
    body.jsonPath("$.length()").isEqualTo(cinemas.length);
    for (int i = 0; i < cinemas.length; i++) {
      body.jsonPath("$[" + i + "].cinemaName").isEqualTo(cinemas[i]);
    }
  }

  private String token() {
    return client
        .get()
        .uri("/token")
        .exchange()
        .expectBody(TokenAnswer.class)
        .returnResult()
        .getResponseBody()
        .token();
  }

  private record TokenAnswer(String token) {}

  private StatusAssertions statusWith(String authorization) {
    return client.get().uri(LIST).header("Authorization", authorization).exchange().expectStatus();
  }

  private void change(Map<String, Object> levels) {
    post("/actuator/breaker", levels);
  }

  private void option(Map<String, Object> levels) {
    post("/actuator/options", levels);
  }

  private void post(String path, Map<String, Object> levels) {
    client
        .post()
        .uri(path)
        .contentType(MediaType.APPLICATION_JSON)
        .bodyValue(levels)
        .exchange()
        .expectStatus()
        .isOk();
  }
}
