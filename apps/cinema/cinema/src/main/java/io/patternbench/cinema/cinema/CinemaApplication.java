package io.patternbench.cinema.cinema;

import io.patternbench.cinema.web.Web;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.EnableScheduling;

/** One cinema, which has its own movies, reservations and database. */
@SpringBootApplication
@EnableScheduling
@Import(Web.class)
@EnableConfigurationProperties(CinemaProperties.class)
public class CinemaApplication {
  public static void main(String[] args) {
    SpringApplication.run(CinemaApplication.class, args);
  }
}
