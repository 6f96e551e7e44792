package io.patternbench.shop.recommender;

import io.patternbench.shop.commons.PersistenceCustomer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.EnableScheduling;

/** Says what else a customer might like; it has learnt that from all orders when it began. */
@SpringBootApplication
@EnableScheduling
@Import(PersistenceCustomer.class)
public class Recommender {
  public static void main(String[] args) {
    SpringApplication.run(Recommender.class, args);
  }
}
