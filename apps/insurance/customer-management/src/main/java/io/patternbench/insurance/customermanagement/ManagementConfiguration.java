package io.patternbench.insurance.customermanagement;

import io.patternbench.insurance.commons.security.Role;
import io.patternbench.insurance.commons.security.SignIn;
import io.patternbench.insurance.commons.security.SignInController;
import io.patternbench.insurance.commons.security.Tokens;
import io.patternbench.insurance.commons.web.ServiceClients;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;

@Configuration(proxyBeanMethods = false)
@Import({SignInController.class, ServiceClients.class})
class ManagementConfiguration {
  @Bean
  SignIn signIn(JdbcClient database, Tokens tokens) {
    return new SignIn(database, tokens, Role.EMPLOYEE);
  }

  @Bean
  CustomerCoreClient customerCore(
      ServiceClients.Factory clients, @Value("${insurance.customer-core}") String url) {
    return clients.client(CustomerCoreClient.class, url);
  }
}
