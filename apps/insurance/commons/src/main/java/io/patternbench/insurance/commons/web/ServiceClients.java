package io.patternbench.insurance.commons.web;

import io.patternbench.apps.commons.HttpClients;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.security.oauth2.server.resource.authentication.AbstractOAuth2TokenAuthenticationToken;
import org.springframework.web.client.RestClient;

/** How a service calls another one: over pooled connections, with its caller's token. */
@Configuration(proxyBeanMethods = false)
public class ServiceClients {
  @Bean
  ClientHttpRequestFactoryBuilder<?> clientHttpRequestFactoryBuilder(
      @Value("${insurance.http-pool:50}") int connections) {
    return HttpClients.pooled(connections, connections);
  }

  /** Makes the client of a service out of an interface. */
  public interface Factory {
    <T> T client(Class<T> type, String url);
  }

  @Bean
  Factory serviceClientFactory(RestClient.Builder builder) {
    return factory(builder);
  }

  /** A factory whose clients are built as {@code builder} says. */
  public static Factory factory(RestClient.Builder builder) {
    return new Factory() {
      @Override
      public <T> T client(Class<T> type, String url) {
        RestClient client = builder.clone().baseUrl(url).requestInterceptor(passToken()).build();
        return HttpClients.of(type, client);
      }
    };
  }

  private static ClientHttpRequestInterceptor passToken() {
    return (request, body, execution) -> {
      if (SecurityContextHolder.getContext().getAuthentication()
          instanceof AbstractOAuth2TokenAuthenticationToken<?> caller) {
        request.getHeaders().setBearerAuth(caller.getToken().getTokenValue());
      }
      return execution.execute(request, body);
    };
  }
}
