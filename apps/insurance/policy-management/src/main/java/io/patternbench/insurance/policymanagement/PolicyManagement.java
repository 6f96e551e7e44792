package io.patternbench.insurance.policymanagement;

import io.patternbench.insurance.commons.Commons;
import io.patternbench.insurance.commons.security.AccessRules;
import io.patternbench.insurance.commons.security.Role;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpMethod;

/** What employees do with policies, and the quote requests that customers sent. */
@SpringBootApplication
@Import(Commons.class)
public class PolicyManagement {
  private static final String QUOTES = "/insurance-quote-requests/**";

  public static void main(String[] args) {
    SpringApplication.run(PolicyManagement.class, args);
  }

  /** Quote requests come from the self-service with the token of the customer who sent them. */
  @Bean
  AccessRules accessRules() {
    return requests -> {
      requests.requestMatchers(HttpMethod.PUT, QUOTES).hasRole(Role.CUSTOMER.claim());
      requests.requestMatchers(HttpMethod.DELETE, QUOTES).hasRole(Role.CUSTOMER.claim());
      requests.anyRequest().hasRole(Role.EMPLOYEE.claim());
    };
  }
}
