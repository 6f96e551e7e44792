package io.patternbench.cinema.monolith;

import io.patternbench.cinema.cinema.http.DatabaseAdvice;
import io.patternbench.cinema.web.Web;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/** All cinemas in one process: what the services do, without a call between them. */
@SpringBootApplication
@Import({Web.class, DatabaseAdvice.class})
@EnableConfigurationProperties(MonolithProperties.class)
public class Monolith {
  public static void main(String[] args) {
    SpringApplication.run(Monolith.class, args);
  }
}
