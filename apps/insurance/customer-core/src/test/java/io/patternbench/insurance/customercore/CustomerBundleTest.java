package io.patternbench.insurance.customercore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.put;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.testing.Callers;
import io.patternbench.insurance.testing.Contract;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;

/** Bundles of customers, on a real database. */
@MariaDb("customer_core")
@SpringBootTest
@AutoConfigureMockMvc
class CustomerBundleTest {
  private static final String ADDRESS =
      "{\"streetAddress\": \"%s\", \"postalCode\": \"8640\", \"city\": \"Rapperswil\"}";

  @Autowired private MockMvc service;
  @Autowired private BundleSettings settings;

  @AfterEach
  void asPublished() {
    settings.change(BundleReads.ONE_BY_ONE, null);
  }

  @ParameterizedTest
  @EnumSource(BundleReads.class)
  void goodAndBadItemsAreAnsweredInTheirOrder(BundleReads reads) throws Exception {
    settings.change(reads, null);
    JsonNode answer =
        json(
            asEmployee(
                put("/customers/addresses"),
                "[%s, %s, 7, %s, {\"customerId\": \"c000000022\"}]"
                    .formatted(
                        change("c000000021", "A"),
                        change("c999999999", "B"),
                        change("c000000021", "C"))));
    assertThat(answer.get("size").asInt()).isEqualTo(5);
    assertThat(statuses(answer)).containsExactly(200, 404, 400, 200, 400);
    assertThat(answer.at("/items/4/body/detail").asText()).isEqualTo("address must not be null");
    assertThat(street("c000000021")).isEqualTo("C");
  }

  @ParameterizedTest
  @EnumSource(BundleReads.class)
  void anIdThatStandsTwiceIsAnsweredTwice(BundleReads reads) throws Exception {
    settings.change(reads, null);
    JsonNode answer = json(asEmployee(get("/customers/c000000023,c000000024,c000000023"), null));
    assertThat(answer.get("items").findValuesAsText("customerId"))
        .containsExactly("c000000023", "c000000024", "c000000023");
  }

  @Test
  void aCustomerGetsHimselfAndNobodyElse() throws Exception {
    String token = Callers.customer("c000000025");
    MockHttpServletResponse answer = sent(get("/customers/c000000025,c000000026"), null, token);
    assertThat(statuses(json(answer))).containsExactly(200, 403);
    assertThat(sent(get("/customers/c000000026"), null, token).getStatus()).isEqualTo(403);
  }

  @Test
  void bundlesOfNothingAndOfTenThousandAreRefused() throws Exception {
    MockHttpServletResponse none = asEmployee(put("/customers/addresses"), "[]");
    String many = String.join(",", Collections.nCopies(10_000, change("c000000021", "A")));
    MockHttpServletResponse tooMany = asEmployee(put("/customers/addresses"), "[" + many + "]");
    assertThat(detail(none)).contains("from 1 to 1000 items, this one has 0");
    assertThat(detail(tooMany)).contains("this one has 10000");
  }

  @Test
  void aBundleOfOneIsABundle() throws Exception {
    JsonNode answer = json(asEmployee(get("/customers/c000000027,"), null));
    assertThat(answer.get("size").asInt()).isEqualTo(1);
    assertThat(answer.at("/items/0/body/customerId").asText()).isEqualTo("c000000027");
  }

  @Test
  void aBodyOfTenMegabytesIsTooLarge() throws Exception {
    String body = "[\"" + "x".repeat(10_000_000) + "\"]";
    assertThat(asEmployee(put("/customers/addresses"), body).getStatus()).isEqualTo(413);
  }

  @Test
  void brokenJsonIsABadRequest() throws Exception {
    MockHttpServletResponse answer = asEmployee(put("/customers/addresses"), "[{\"customerId\": ");
    assertThat(answer.getStatus()).isEqualTo(400);
    assertThat(answer.getContentType()).isEqualTo("application/problem+json");
    assertThat(detail(answer)).isEqualTo("the body is not JSON");
  }

  @Test
  void settingsAreChangedWhileTheServiceRuns() throws Exception {
    assertThat(asEmployee(post("/actuator/bundle"), "{\"reads\": \"batched\"}").getStatus())
        .isEqualTo(200);
    assertThat(json(asEmployee(get("/actuator/bundle"), null)).toString())
        .isEqualTo("{\"reads\":\"batched\"}");
    assertThat(asEmployee(post("/actuator/bundle"), "{\"forward\": \"once\"}").getStatus())
        .isEqualTo(400);
    assertThat(asEmployee(post("/actuator/bundle"), "{\"reads\": \"batches\"}").getStatus())
        .isEqualTo(400);
    assertThat(sent(get("/actuator/bundle"), null, Callers.customer("c000000001")).getStatus())
        .isEqualTo(403);
  }

  @Test
  void theInterfaceDescribesItself() throws Exception {
    JsonNode openApi = json(asEmployee(get("/v3/api-docs"), null));
    List<String> paths = new ArrayList<>();
    openApi.get("paths").fieldNames().forEachRemaining(paths::add);
    assertThat(paths).contains("/customers/{id}", "/customers/{ids}", "/customers/addresses");
    assertThat(openApi.at("/paths/~1customers~1addresses/put/requestBody").toString())
        .contains("AddressChange");
  }

  private String street(String id) throws Exception {
    return json(asEmployee(get("/customers/" + id), null)).get("streetAddress").asText();
  }

  private static String change(String id, String street) {
    return "{\"customerId\": \"%s\", \"address\": %s}".formatted(id, ADDRESS.formatted(street));
  }

  private MockHttpServletResponse asEmployee(MockHttpServletRequestBuilder request, String body)
      throws Exception {
    return sent(request, body, Callers.employee());
  }

  private MockHttpServletResponse sent(
      MockHttpServletRequestBuilder request, String body, String token) throws Exception {
    request.header(HttpHeaders.AUTHORIZATION, token);
    if (body != null) {
      request.contentType(MediaType.APPLICATION_JSON).content(body);
    }
    return service.perform(request).andReturn().getResponse();
  }

  private static JsonNode json(MockHttpServletResponse answer) throws Exception {
    return Contract.JSON.readTree(answer.getContentAsByteArray());
  }

  private static String detail(MockHttpServletResponse answer) throws Exception {
    assertThat(answer.getStatus()).isEqualTo(400);
    return json(answer).get("detail").asText();
  }

  private static List<Integer> statuses(JsonNode answer) {
    List<Integer> statuses = new ArrayList<>();
    answer.get("items").forEach(item -> statuses.add(item.get("status").asInt()));
    return statuses;
  }
}
