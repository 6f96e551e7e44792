package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.web.Web;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/** Joins what all cinemas of the registry answer. */
@SpringBootApplication
@Import(Web.class)
@EnableConfigurationProperties(AggregatorProperties.class)
public class Aggregator {
  public static void main(String[] args) {
    SpringApplication.run(Aggregator.class, args);
  }
}
