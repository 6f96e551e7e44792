package io.patternbench.insurance.selfservice;

import static org.hamcrest.Matchers.containsString;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.delete;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.security.Caller;
import io.patternbench.insurance.commons.security.Role;
import io.patternbench.insurance.testing.Callers;
import io.patternbench.insurance.testing.Contract;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.WebMvcTest;
import org.springframework.http.MediaType;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;

/** The web layer alone. */
@WebMvcTest(QuoteController.class)
class QuoteControllerTest {
  private static final Caller OWNER = new Caller("c000000007", Role.CUSTOMER);
  private final JsonNode body = Contract.JSON.valueToTree(Quotes.wanted());

  @Autowired private MockMvc service;
  @MockitoBean private QuoteService quotes;

  @Test
  void aQuoteRequestIsAnsweredWithItsIdDateAndHistory() throws Exception {
    when(quotes.create(any(), eq(OWNER), eq("k"))).thenReturn(Items.one(Quotes.agreed()));
    asOwner(post("/insurance-quote-requests").header("Idempotency-Key", "k"), body.toString())
        .andExpect(status().isOk())
        .andExpect(content().json(Quotes.AGREED.toString()));
  }

  @Test
  void employeesDoNotAskForQuotes() throws Exception {
    service
        .perform(get("/insurance-quote-requests/a").header("Authorization", Callers.employee()))
        .andExpect(status().isForbidden());
  }

  @Test
  void aDateThatIsNoneIsNamed() throws Exception {
    String bad = body.toString().replace("2026-02-01", "tomorrow");
    asOwner(post("/insurance-quote-requests"), bad)
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.detail").value("insuranceOptions.startDate cannot be read"));
  }

  @Test
  void whatLacksInsideABodyIsNamedWithItsPath() throws Exception {
    String bad = body.toString().replace("\"CHF\"", "\"francs\"");
    asOwner(post("/insurance-quote-requests"), bad)
        .andExpect(status().isBadRequest())
        .andExpect(
            jsonPath("$.detail").value(containsString("insuranceOptions.deductible.currency")));
  }

  @Test
  void aBundleThatIsAnObjectIsABadRequest() throws Exception {
    asOwner(post("/insurance-quote-requests/bundle"), "{}").andExpect(status().isBadRequest());
  }

  @Test
  void aBundleIsCreatedUnderTheKeyOfItsCaller() throws Exception {
    when(quotes.create(any(), eq(OWNER), eq("k"))).thenReturn(Items.one(Quotes.agreed()));
    String bundle = "[" + body + "]";
    asOwner(post("/insurance-quote-requests/bundle").header("Idempotency-Key", "k"), bundle)
        .andExpect(status().is2xxSuccessful())
        .andExpect(jsonPath("$.items[0].id").value(Quotes.agreed().id()));
  }

  @Test
  void aDeletionHasNoBody() throws Exception {
    when(quotes.delete(any(), eq(OWNER))).thenReturn(Items.one("a"));
    asOwner(delete("/insurance-quote-requests/a"), "")
        .andExpect(status().isNoContent())
        .andExpect(content().string(""));
  }

  @Test
  void aBundleThatFailedWhollyIsNoSuccess() throws Exception {
    Items<String> failed =
        Items.one("a")
            .check(
                id -> {
                  throw Problems.unavailable("the broker does not answer", null);
                });
    when(quotes.delete(any(), eq(OWNER))).thenReturn(failed);
    asOwner(delete("/insurance-quote-requests/a,"), "")
        .andExpect(status().isServiceUnavailable())
        .andExpect(jsonPath("$.items[0].status").value(503));
  }

  private ResultActions asOwner(MockHttpServletRequestBuilder request, String body)
      throws Exception {
    return service.perform(
        request
            .header("Authorization", Callers.customer("c000000007"))
            .contentType(MediaType.APPLICATION_JSON)
            .content(body));
  }
}
