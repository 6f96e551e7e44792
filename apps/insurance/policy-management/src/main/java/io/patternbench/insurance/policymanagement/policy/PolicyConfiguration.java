package io.patternbench.insurance.policymanagement.policy;

import io.patternbench.insurance.commons.web.ServiceClients;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

@Configuration(proxyBeanMethods = false)
@Import(ServiceClients.class)
class PolicyConfiguration {
  @Bean
  CustomerCoreClient customerCore(
      ServiceClients.Factory clients, @Value("${insurance.customer-core}") String url) {
    return clients.client(CustomerCoreClient.class, url);
  }
}
