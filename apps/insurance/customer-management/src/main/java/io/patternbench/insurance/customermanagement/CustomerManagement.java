package io.patternbench.insurance.customermanagement;

import io.patternbench.insurance.commons.Commons;
import io.patternbench.insurance.commons.security.AccessRules;
import io.patternbench.insurance.commons.security.Role;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** What employees do with customers. It keeps the employees' logins; customers are in the core. */
@SpringBootApplication
@Import(Commons.class)
public class CustomerManagement {
  public static void main(String[] args) {
    SpringApplication.run(CustomerManagement.class, args);
  }

  @Bean
  AccessRules accessRules() {
    return requests -> requests.anyRequest().hasRole(Role.EMPLOYEE.claim());
  }
}
