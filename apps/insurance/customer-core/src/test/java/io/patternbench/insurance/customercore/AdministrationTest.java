package io.patternbench.insurance.customercore;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;

/** The actuator on a port of its own, where settings are changed without a token. */
@MariaDb("customer_core")
@SpringBootTest(
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT,
    properties = "ADMIN_PORT=0")
class AdministrationTest {
  @Autowired private TestRestTemplate service;
  @Autowired private BundleSettings settings;
  @LocalManagementPort private int port;

  @Test
  void settingsAreChangedAtThePortOfTheActuator() {
    assertThat(change("http://127.0.0.1:" + port + "/actuator/bundle").value()).isEqualTo(200);
    assertThat(settings.depth().reads()).isEqualTo(BundleReads.BATCHED);
  }

  @Test
  void nobodyComesInWithoutATokenAtThePortOfTheService() {
    assertThat(change("/actuator/bundle").value()).isEqualTo(401);
    assertThat(service.getForEntity("/customers/c000000001", String.class).getStatusCode().value())
        .isEqualTo(401);
  }

  private HttpStatusCode change(String url) {
    HttpHeaders json = new HttpHeaders();
    json.setContentType(MediaType.APPLICATION_JSON);
    HttpEntity<String> body = new HttpEntity<>("{\"reads\": \"batched\"}", json);
    return service.exchange(url, HttpMethod.POST, body, String.class).getStatusCode();
  }
}
