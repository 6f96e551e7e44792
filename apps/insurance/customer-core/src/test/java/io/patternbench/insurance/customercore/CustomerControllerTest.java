package io.patternbench.insurance.customercore;

import static org.hamcrest.Matchers.containsString;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.put;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.header;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.insurance.testing.Callers;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.WebMvcTest;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;

/** The web layer alone. */
@WebMvcTest
class CustomerControllerTest {
  @Autowired private MockMvc service;
  @MockitoBean private CustomerService customers;

  @Test
  void whoeverIsNotSignedInIsToldHowTo() throws Exception {
    service
        .perform(get("/customers/c000000001"))
        .andExpect(status().isUnauthorized())
        .andExpect(header().string(HttpHeaders.WWW_AUTHENTICATE, "Bearer"))
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON))
        .andExpect(jsonPath("$.detail").value(containsString("POST /auth")));
  }

  @Test
  void anUnsignedTokenIsRefused() throws Exception {
    String none = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjMDAwMDAwMDAxIiwiaXNzIjoiaW5zdXJhbmNlIn0.";
    service
        .perform(get("/customers/c000000001").header("Authorization", "Bearer " + none))
        .andExpect(status().isUnauthorized());
  }

  @Test
  void everythingThatIsWrongWithAnAddressIsSaidAtOnce() throws Exception {
    service
        .perform(
            put("/customers/c000000001/address")
                .header("Authorization", Callers.employee())
                .contentType(MediaType.APPLICATION_JSON)
                .content("{\"city\": \"\"}"))
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.errors.length()").value(3));
  }

  @Test
  void aDatabaseThatDoesNotAnswerIsServiceUnavailable() throws Exception {
    when(customers.get(any(), any())).thenThrow(new DataAccessResourceFailureException("gone"));
    service
        .perform(get("/customers/c000000001").header("Authorization", Callers.employee()))
        .andExpect(status().isServiceUnavailable())
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }

  @Test
  void aPathThatThereIsNotIsNotFound() throws Exception {
    service
        .perform(get("/nothing").header("Authorization", Callers.employee()))
        .andExpect(status().isNotFound())
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }
}
