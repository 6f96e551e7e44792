package io.patternbench.shop.commons;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.web.ServiceClients;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What a service imports that asks persistence. */
@Configuration(proxyBeanMethods = false)
@Import({Commons.class, ServiceClients.class})
public class PersistenceCustomer {
  @Bean
  PersistenceClient persistence(ServiceClients.Factory clients) {
    return clients.client(PersistenceClient.class, PersistenceClient.SERVICE);
  }
}
