package io.patternbench.insurance.selfservice;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.insurance.commons.security.Role;
import io.patternbench.insurance.commons.security.SignIn;
import io.patternbench.insurance.commons.security.SignInController;
import io.patternbench.insurance.commons.security.Tokens;
import io.patternbench.insurance.commons.web.ServiceClients;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.support.converter.Jackson2JsonMessageConverter;
import org.springframework.amqp.support.converter.MessageConverter;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;

@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(QuoteProperties.class)
@Import({SignInController.class, ServiceClients.class})
class SelfServiceConfiguration {
  @Bean
  SignIn signIn(JdbcClient database, Tokens tokens) {
    return new SignIn(database, tokens, Role.CUSTOMER);
  }

  @Bean
  CustomerCoreClient customerCore(
      ServiceClients.Factory clients, @Value("${insurance.customer-core}") String url) {
    return clients.client(CustomerCoreClient.class, url);
  }

  @Bean
  MessageConverter messageConverter(ObjectMapper json) {
    return new Jackson2JsonMessageConverter(json);
  }

  @Bean
  QuoteChannel quoteChannel(
      QuoteProperties properties,
      RabbitTemplate rabbit,
      ServiceClients.Factory clients,
      @Value("${insurance.policy-management}") String url) {
    return switch (properties.channel()) {
      case MESSAGE -> new QuoteMessages(rabbit, properties.confirmWithin());
      case HTTP -> new QuoteCalls(clients.client(PolicyManagementClient.class, url));
    };
  }
}
