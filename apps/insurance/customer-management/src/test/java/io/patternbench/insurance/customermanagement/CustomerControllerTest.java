package io.patternbench.insurance.customermanagement;

import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.content;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.insurance.testing.Callers;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.WebMvcTest;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.web.client.HttpServerErrorException;
import org.springframework.web.client.ResourceAccessException;

/** The web layer alone. */
@WebMvcTest(CustomerController.class)
class CustomerControllerTest {
  @Autowired private MockMvc service;
  @MockitoBean private CustomerCoreClient core;

  @Test
  void customersDoNotManageCustomers() throws Exception {
    service
        .perform(
            get("/customers/c000000001").header("Authorization", Callers.customer("c000000001")))
        .andExpect(status().isForbidden())
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }

  @Test
  void aCoreThatDoesNotAnswerIsABadGateway() throws Exception {
    when(core.get("c000000001"))
        .thenThrow(new ResourceAccessException("refused", new ConnectException()));
    whenAskedItAnswers(502);
  }

  @Test
  void aCoreThatIsTooSlowIsAGatewayTimeout() throws Exception {
    when(core.get("c000000001"))
        .thenThrow(new ResourceAccessException("slow", new SocketTimeoutException()));
    whenAskedItAnswers(504);
  }

  @Test
  void aCoreThatFailsIsABadGateway() throws Exception {
    when(core.get("c000000001"))
        .thenThrow(
            HttpServerErrorException.create(
                HttpStatus.SERVICE_UNAVAILABLE, "", HttpHeaders.EMPTY, new byte[0], null));
    whenAskedItAnswers(502);
  }

  private void whenAskedItAnswers(int status) throws Exception {
    service
        .perform(get("/customers/c000000001").header("Authorization", Callers.employee()))
        .andExpect(status().is(status))
        .andExpect(content().contentType(MediaType.APPLICATION_PROBLEM_JSON));
  }
}
