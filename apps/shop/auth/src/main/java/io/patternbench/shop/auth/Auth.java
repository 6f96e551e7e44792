package io.patternbench.shop.auth;

import io.patternbench.shop.commons.PersistenceCustomer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/** Signs sessions, and fills carts in them; it keeps nothing itself. */
@SpringBootApplication
@Import(PersistenceCustomer.class)
@EnableConfigurationProperties(SessionProperties.class)
public class Auth {
  public static void main(String[] args) {
    SpringApplication.run(Auth.class, args);
  }
}
