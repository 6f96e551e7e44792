package io.patternbench.cinema.gateway;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;

/** The one way in to the cinemas and the aggregator. */
@SpringBootApplication
@EnableConfigurationProperties(GatewayProperties.class)
public class Gateway {
  public static void main(String[] args) {
    SpringApplication.run(Gateway.class, args);
  }
}
