package io.patternbench.insurance.customermanagement;

import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.jsonPath;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.patternbench.apps.testing.MariaDb;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.ResultActions;

@MariaDb("customer_management")
@SpringBootTest
@AutoConfigureMockMvc
class SignInTest {
  @Autowired private MockMvc service;

  @Test
  void anEmployeeSignsIn() throws Exception {
    signIn("e000000001@example.org", "insurance")
        .andExpect(status().isOk())
        .andExpect(jsonPath("$.token").isNotEmpty());
  }

  @Test
  void aWrongPasswordAndAnUnknownAddressAreToldTheSame() throws Exception {
    for (String email : new String[] {"e000000001@example.org", "nobody@example.org"}) {
      signIn(email, "insurances")
          .andExpect(status().isUnauthorized())
          .andExpect(jsonPath("$.detail").value("e-mail address or password is wrong"));
    }
  }

  @Test
  void aPasswordThatIsTooLongIsABadRequest() throws Exception {
    signIn("e000000001@example.org", "x".repeat(73))
        .andExpect(status().isBadRequest())
        .andExpect(jsonPath("$.errors[0].field").value("password"));
  }

  private ResultActions signIn(String email, String password) throws Exception {
    return service.perform(
        post("/auth")
            .contentType(MediaType.APPLICATION_JSON)
            .content("{\"email\": \"%s\", \"password\": \"%s\"}".formatted(email, password)));
  }
}
