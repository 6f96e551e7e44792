package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Commons;
import io.patternbench.insurance.commons.security.AccessRules;
import io.patternbench.insurance.commons.security.Role;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** What customers do themselves: sign in, see and change their data, ask for quotes. */
@SpringBootApplication
@Import(Commons.class)
public class CustomerSelfService {
  public static void main(String[] args) {
    SpringApplication.run(CustomerSelfService.class, args);
  }

  @Bean
  AccessRules accessRules() {
    return requests -> requests.anyRequest().hasRole(Role.CUSTOMER.claim());
  }
}
