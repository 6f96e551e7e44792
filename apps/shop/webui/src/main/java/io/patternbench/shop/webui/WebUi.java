package io.patternbench.shop.webui;

import io.patternbench.shop.commons.PersistenceCustomer;
import io.patternbench.shop.commons.web.ServiceClients;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** The pages of the shop, put together from what the other services say. */
@SpringBootApplication
@Import(PersistenceCustomer.class)
public class WebUi {
  public static void main(String[] args) {
    SpringApplication.run(WebUi.class, args);
  }

  @Bean
  AuthClient auth(ServiceClients.Factory clients) {
    return clients.client(AuthClient.class, "auth");
  }

  @Bean
  RecommenderClient recommender(ServiceClients.Factory clients) {
    return clients.client(RecommenderClient.class, "recommender");
  }

  @Bean
  ImageClient image(ServiceClients.Factory clients) {
    return clients.client(ImageClient.class, "image");
  }
}
