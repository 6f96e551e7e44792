package io.patternbench.shop.persistence;

import io.patternbench.shop.commons.Commons;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

/** Keeps categories, products, users and orders; the other services ask it. */
@SpringBootApplication
@Import(Commons.class)
public class Persistence {
  public static void main(String[] args) {
    SpringApplication.run(Persistence.class, args);
  }
}
