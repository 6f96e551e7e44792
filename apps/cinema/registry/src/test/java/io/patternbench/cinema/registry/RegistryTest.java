package io.patternbench.cinema.registry;

import static org.assertj.core.api.Assertions.assertThat;

import com.netflix.eureka.EurekaServerContext;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.RequestEntity;

/** Eureka as it is set up here, by the calls that its clients make. */
@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
    properties = {"EVICT_EVERY_MS=50", "PORT=8762"})
class RegistryTest {
  @Autowired private TestRestTemplate registry;
  @Autowired private EurekaServerContext server;

  @Test
  void whoeverRegistersIsToldOfAtOnce() {
    register("late", 90);
    assertThat(registered("late")).isEqualTo(HttpStatus.OK);
  }

  @Test
  void whoeverLeavesIsForgottenAtOnce() {
    register("leaving", 90);
    registry.delete("/eureka/apps/leaving/leaving:1");
    assertThat(registered("leaving")).isEqualTo(HttpStatus.NOT_FOUND);
  }

  @Test
  void whoeverSendsNoHeartbeatIsForgotten() {
    register("dead", 1);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> registered("dead").equals(HttpStatus.NOT_FOUND));
  }

  @Test
  void itsPageShowsWhoIsThere() {
    register("shown", 90);
    assertThat(registry.getForObject("/", String.class)).contains("SHOWN");
  }

  @Test
  void whateverItsPortItPassesNothingOnToAnotherRegistry() {
    assertThat(server.getPeerEurekaNodes().getPeerEurekaNodes()).isEmpty();
  }

  private HttpStatusCode registered(String service) {
    RequestEntity<Void> asked =
        RequestEntity.get("/eureka/apps/" + service).accept(MediaType.APPLICATION_JSON).build();
    return registry.exchange(asked, String.class).getStatusCode();
  }

  private void register(String service, int seconds) {
    Map<String, Object> lease = Map.of("renewalIntervalInSecs", 1, "durationInSecs", seconds);
    Map<String, Object> dataCenter =
        Map.of("@class", "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name", "MyOwn");
    Map<String, Object> instance =
        Map.of(
            "instanceId",
            service + ":1",
            "hostName",
            "127.0.0.1",
            "app",
            service,
            "ipAddr",
            "127.0.0.1",
            "vipAddress",
            service,
            "status",
            "UP",
            "port",
            Map.of("$", 1, "@enabled", "true"),
            "dataCenterInfo",
            dataCenter,
            "leaseInfo",
            lease);
    var answer =
        registry.exchange(
            RequestEntity.post("/eureka/apps/" + service)
                .header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON_VALUE)
                .body(Map.of("instance", instance)),
            String.class);
    assertThat(answer.getStatusCode()).isEqualTo(HttpStatus.NO_CONTENT);
  }
}
