package io.patternbench.insurance.policymanagement.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyList;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.delete;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.put;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.testing.Callers;
import io.patternbench.insurance.testing.Contract;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;

/** Policies on a real database; customer-core knows every customer but c999999999. */
@MariaDb("policy_management")
@SpringBootTest(properties = "QUOTE_CHANNEL=http")
@AutoConfigureMockMvc
class PolicyTest {
  private static final String DETAILS =
      """
      {"customerId": "c000000007",
       "policyPeriod": {"startDate": "2026-02-01", "endDate": "2027-01-31"},
       "policyType": "Home Insurance",
       "deductible": {"amount": 500, "currency": "CHF"},
       "policyLimit": {"amount": 100000.50, "currency": "CHF"},
       "insurancePremium": {"amount": 320, "currency": "CHF"},
       "insuringAgreement": {"agreementItems": [{"title": "Fire", "description": "All of it"}]}}
      """;

  @Autowired private MockMvc service;
  @Autowired private BundleSettings settings;
  @MockitoBean private Customers customers;

  @BeforeEach
  void everyCustomerButOne() {
    when(customers.find(anyList())).thenAnswer(asked -> known(asked.getArgument(0)));
  }

  private static Map<String, JsonNode> known(List<String> ids) {
    Map<String, JsonNode> known = new HashMap<>();
    ids.forEach(id -> known.put(id, Contract.JSON.createObjectNode().put("customerId", id)));
    known.remove("c999999999");
    return known;
  }

  @AfterEach
  void asPublished() {
    settings.change(BundleReads.ONE_BY_ONE, BundleForward.EACH);
  }

  static Stream<Arguments> depths() {
    return Stream.of(BundleReads.values())
        .flatMap(r -> Stream.of(BundleForward.values()).map(f -> Arguments.of(r, f)));
  }

  @Test
  void aPolicyLivesFromItsCreationToItsDeletion() throws Exception {
    JsonNode created = json(sent(post("/policies"), DETAILS));
    String path = "/policies/" + created.get("policyId").asText();
    assertThat(json(sent(get(path), null))).isEqualTo(created);
    assertThat(created.at("/policyLimit/amount").decimalValue().toPlainString())
        .startsWith("100000.5");
    JsonNode changed = json(sent(put(path), DETAILS.replace("320", "330")));
    assertThat(changed.at("/insurancePremium/amount").asInt()).isEqualTo(330);
    assertThat(changed.get("creationDate")).isEqualTo(created.get("creationDate"));
    assertThat(json(sent(get(path + "?expand=customer"), null)).at("/customer/customerId").asText())
        .isEqualTo("c000000007");
    assertThat(sent(delete(path), null).getStatus()).isEqualTo(204);
    assertThat(sent(delete(path), null).getStatus()).isEqualTo(404);
    assertThat(sent(put(path), DETAILS).getStatus()).isEqualTo(404);
  }

  @ParameterizedTest
  @MethodSource("depths")
  void howDeepABundleGoesDoesNotChangeItsAnswers(BundleReads reads, BundleForward forward)
      throws Exception {
    settings.change(reads, forward);
    JsonNode created =
        json(sent(post("/policies/bundle"), bundle(details(), details("c999999999"), details())));
    assertThat(statuses(created)).containsExactly(200, 422, 200);
    String a = created.at("/items/0/id").asText();
    String b = created.at("/items/2/id").asText();
    JsonNode changed =
        json(
            sent(
                put("/policies"),
                bundle(change(a, 1), change("x", 2), details(), change(b, 3), change(a, 4))));
    assertThat(statuses(changed)).containsExactly(200, 404, 400, 200, 200);
    String list = "/policies/%s,x,%s,%s".formatted(a, b, a);
    JsonNode got = json(sent(get(list + "?expand=customer"), null));
    assertThat(statuses(got)).containsExactly(200, 404, 200, 200);
    assertThat(got.at("/items/0/body/insurancePremium/amount").asInt()).isEqualTo(4);
    assertThat(got.at("/items/2/body/customer/customerId").asText()).isEqualTo("c000000007");
    assertThat(statuses(json(sent(delete(list), null)))).containsExactly(204, 404, 204, 404);
  }

  @ParameterizedTest
  @MethodSource("depths")
  void theCoreIsAskedOnceOrForEachItem(BundleReads reads, BundleForward forward) throws Exception {
    settings.change(reads, forward);
    sent(post("/policies/bundle"), bundle(details(), details(), details()));
    verify(customers, times(forward == BundleForward.ONCE ? 1 : 3)).find(any());
  }

  @Test
  void aPeriodThatEndsBeforeItStartsIsABadRequest() throws Exception {
    MockHttpServletResponse answer =
        sent(post("/policies"), DETAILS.replace("2027-01-31", "2025-01-31"));
    assertThat(answer.getStatus()).isEqualTo(400);
    assertThat(json(answer).get("detail").asText()).contains("must not end before it starts");
  }

  @Test
  void onlyACustomerCanBeExpanded() throws Exception {
    assertThat(sent(get("/policies/a?expand=agent"), null).getStatus()).isEqualTo(400);
  }

  @Test
  void customersDoNotManagePolicies() throws Exception {
    MockHttpServletResponse answer =
        service
            .perform(get("/policies/a").header("Authorization", Callers.customer("c000000007")))
            .andReturn()
            .getResponse();
    assertThat(answer.getStatus()).isEqualTo(403);
  }

  private static ObjectNode details() throws Exception {
    return (ObjectNode) Contract.JSON.readTree(DETAILS);
  }

  private static ObjectNode details(String customerId) throws Exception {
    return details().put("customerId", customerId);
  }

  private static ObjectNode change(String id, int premium) throws Exception {
    ObjectNode change = details().put("policyId", id);
    ((ObjectNode) change.get("insurancePremium")).put("amount", premium);
    return change;
  }

  private static String bundle(ObjectNode... items) {
    ArrayNode bundle = Contract.JSON.createArrayNode();
    Stream.of(items).forEach(bundle::add);
    return bundle.toString();
  }

  private MockHttpServletResponse sent(MockHttpServletRequestBuilder request, String body)
      throws Exception {
    request.header("Authorization", Callers.employee());
    if (body != null) {
      request.contentType(MediaType.APPLICATION_JSON).content(body);
    }
    return service.perform(request).andReturn().getResponse();
  }

  private static JsonNode json(MockHttpServletResponse answer) throws Exception {
    return Contract.JSON.readTree(answer.getContentAsByteArray());
  }

  private static List<Integer> statuses(JsonNode answer) {
    List<Integer> statuses = new ArrayList<>();
    answer.get("items").forEach(item -> statuses.add(item.get("status").asInt()));
    return statuses;
  }
}
