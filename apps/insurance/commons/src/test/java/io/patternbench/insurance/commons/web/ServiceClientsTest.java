package io.patternbench.insurance.commons.web;

import static org.springframework.test.web.client.match.MockRestRequestMatchers.header;
import static org.springframework.test.web.client.match.MockRestRequestMatchers.headerDoesNotExist;
import static org.springframework.test.web.client.match.MockRestRequestMatchers.requestTo;
import static org.springframework.test.web.client.response.MockRestResponseCreators.withSuccess;

import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.MediaType;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.server.resource.authentication.JwtAuthenticationToken;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.web.client.RestClient;
import org.springframework.web.service.annotation.GetExchange;

/** A service calls another one with its caller's token. */
class ServiceClientsTest {
  private final RestClient.Builder builder = RestClient.builder();
  private final MockRestServiceServer other = MockRestServiceServer.bindTo(builder).build();

  private interface Customers {
    @GetExchange("/customers/1")
    String first();
  }

  @AfterEach
  void signOut() {
    SecurityContextHolder.clearContext();
  }

  @Test
  void theTokenOfTheCallerGoesAlongToTheNextService() {
    Instant now = Instant.now();
    Jwt token =
        new Jwt("his.own.token", now, now.plusSeconds(9), Map.of("alg", "x"), Map.of("sub", "c1"));
    SecurityContextHolder.getContext().setAuthentication(new JwtAuthenticationToken(token));
    other
        .expect(requestTo("http://core/customers/1"))
        .andExpect(header("Authorization", "Bearer his.own.token"))
        .andRespond(withSuccess("{}", MediaType.APPLICATION_JSON));
    customers().first();
    other.verify();
  }

  @Test
  void whoeverIsNotSignedInHasNoTokenToPassOn() {
    other
        .expect(headerDoesNotExist("Authorization"))
        .andRespond(withSuccess("{}", MediaType.APPLICATION_JSON));
    customers().first();
    other.verify();
  }

  private Customers customers() {
    return ServiceClients.factory(builder).client(Customers.class, "http://core");
  }
}
