package io.patternbench.insurance.customercore;

import io.patternbench.insurance.commons.Commons;
import io.patternbench.insurance.commons.security.AccessRules;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** Keeps the customers and their addresses; the other services ask it. */
@SpringBootApplication
@Import(Commons.class)
public class CustomerCore {
  public static void main(String[] args) {
    SpringApplication.run(CustomerCore.class, args);
  }

  /** Any signed-in user may ask; customers get their own data only. */
  @Bean
  AccessRules accessRules() {
    return requests -> requests.anyRequest().authenticated();
  }
}
