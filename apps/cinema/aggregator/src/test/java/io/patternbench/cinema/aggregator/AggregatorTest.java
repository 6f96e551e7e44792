package io.patternbench.cinema.aggregator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.cinema.aggregator.Levels.Connections;
import io.patternbench.cinema.aggregator.Levels.Via;
import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.Missing;
import java.util.Arrays;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.test.context.DynamicPropertyRegistrar;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;

/** The aggregator before a server that stands for the gateway and for all cinemas. */
@SpringBootTest(properties = "eureka.client.enabled=false")
@AutoConfigureMockMvc
class AggregatorTest {
  @TestConfiguration
  static class Config {
    @Bean(destroyMethod = "close")
    Cinemas cinemas() {
      return new Cinemas();
    }

    @Bean
    DynamicPropertyRegistrar gateway(Cinemas cinemas) {
      return registry -> registry.add("GATEWAY", () -> "http://127.0.0.1:" + cinemas.port());
    }
  }

  @Autowired private MockMvc aggregator;
  @Autowired private AggregationSettings settings;
  @Autowired private Cinemas cinemas;

  @BeforeEach
  void asPublished() {
    settings.change(Calls.SEQUENTIAL, Via.GATEWAY, Connections.JDK, Missing.FAIL);
    cinemas.asAtFirst("cineworld", "dundrum", "ucd");
  }

  static Stream<Arguments> ways() {
    return Arrays.stream(Calls.values())
        .flatMap(
            calls ->
                Arrays.stream(Via.values())
                    .flatMap(
                        via ->
                            Arrays.stream(Connections.values())
                                .map(connections -> Arguments.of(calls, via, connections))));
  }

  @ParameterizedTest
  @MethodSource("ways")
  void howCinemasAreAskedDoesNotChangeTheAnswer(Calls calls, Via via, Connections connections)
      throws Exception {
    settings.change(calls, via, connections, null);
    list()
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "dundrum", "ucd")));
    aggregator
        .perform(
            post("/api/movie/find")
                .contentType(MediaType.APPLICATION_JSON)
                .content("{\"showTime\": \"18:00\"}"))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$.length()").value(3));
  }

  @Test
  void parallelCallsAreUnderWayTogether() throws Exception {
    settings.change(Calls.PARALLEL, null, null, null);
    cinemas.together = new CyclicBarrier(3);
    list().andExpect(status().isOk());
  }

  @ParameterizedTest
  @EnumSource(Calls.class)
  void whoSignedInStaysSignedInForTheCallsToCinemas(Calls calls) throws Exception {
    settings.change(calls, null, null, null);
    aggregator.perform(get("/api/movie/list").header("Authorization", "Bearer one"));
    assertThat(cinemas.callers).containsExactly("Bearer one", "Bearer one", "Bearer one");
    cinemas.callers.clear();
    list();
    assertThat(cinemas.callers).isEmpty();
  }

  @Test
  void unpooledCallsHaveAConnectionEachAndPooledOnesShareThem() throws Exception {
    settings.change(null, null, Connections.UNPOOLED, null);
    list();
    list();
    assertThat(cinemas.connections).hasSize(6);
    cinemas.connections.clear();
    settings.change(null, null, Connections.POOLED, null);
    list();
    list();
    assertThat(cinemas.connections).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(Calls.class)
  void aCinemaThatFailsFailsTheListOrIsLeftOut(Calls calls) throws Exception {
    cinemas.failing.add("dundrum");
    settings.change(calls, null, null, null);
    list()
        .andExpect(status().isBadGateway())
        .andExpect(jsonPath("$.detail").value("the next service answered 500"));
    settings.change(null, null, null, Missing.SKIP);
    list()
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "ucd")));
  }

  @ParameterizedTest
  @EnumSource(Calls.class)
  void aCinemaThatGoesWhileItIsLookedForFailsTheListOrIsLeftOut(Calls calls) throws Exception {
    String gone = "gone-" + calls.name().toLowerCase(); // one that no balancer has known before
    cinemas.asAtFirst("cineworld", gone, "ucd");
    settings.change(calls, Via.DIRECT, null, null);
    cinemas.looksLeft.put(Cinema.service(gone), new AtomicInteger(1));
    list().andExpect(status().isServiceUnavailable());
    settings.change(null, null, null, Missing.SKIP);
    cinemas.looksLeft.put(Cinema.service(gone), new AtomicInteger(1));
    list()
        .andExpect(status().isOk())
        .andExpect(jsonPath("$[*].cinemaName", contains("cineworld", "ucd")));
  }

  @Test
  void aCinemaThatStartsLateIsAskedOnceItIsRegistered() throws Exception {
    cinemas.asAtFirst("cineworld", "dundrum");
    list().andExpect(jsonPath("$.length()").value(2));
    aggregator.perform(get("/actuator/health/cinemas")).andExpect(status().isServiceUnavailable());
    cinemas.registered.add("ucd");
    list().andExpect(jsonPath("$.length()").value(3));
    aggregator.perform(get("/actuator/health/cinemas")).andExpect(status().isOk());
  }

  @ParameterizedTest
  @CsvSource({"calls,parallel", "via,direct", "connections,pooled", "missing,skip"})
  void aSettingIsChangedByItsName(String name, String level) throws Exception {
    change("{\"%s\": \"%s\"}".formatted(name, level))
        .andExpect(status().isOk())
        .andExpect(jsonPath("$." + name).value(level));
  }

  @Test
  void aLevelThatDoesNotExistIsABadRequest() throws Exception {
    change("{\"calls\": \"sometimes\"}").andExpect(status().isBadRequest());
  }

  private ResultActions list() throws Exception {
    return aggregator.perform(get("/api/movie/list"));
  }

  private ResultActions change(String levels) throws Exception {
    return aggregator.perform(
        post("/actuator/aggregation").contentType(MediaType.APPLICATION_JSON).content(levels));
  }
}
