package io.patternbench.cinema.registry;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.netflix.eureka.server.EnableEurekaServer;

/** Knows which services there are, and where; its page shows them. */
@SpringBootApplication
@EnableEurekaServer
public class Registry {
  public static void main(String[] args) {
    SpringApplication.run(Registry.class, args);
  }
}
