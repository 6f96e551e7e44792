package io.patternbench.shop.commons.web;

import io.patternbench.apps.commons.HttpClients;
import java.net.URI;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.web.client.RestClient;

/** How a service calls another one: over pooled connections, its instances in turn. */
@Configuration(proxyBeanMethods = false)
public class ServiceClients {
  @Bean
  ClientHttpRequestFactoryBuilder<?> clientHttpRequestFactoryBuilder(
      @Value("${shop.http-pool}") int connections) {
    return HttpClients.pooled(connections, connections);
  }

  /** Makes the client of a service out of an interface. */
  @FunctionalInterface
  public interface Factory {
    /** The client of a service by its name, which the settings say where to find. */
    <T> T client(Class<T> type, String service);
  }

  @Bean
  Factory serviceClientFactory(RestClient.Builder builder, Environment environment) {
    return new Factory() {
      @Override
      public <T> T client(Class<T> type, String service) {
        String path = environment.getRequiredProperty("shop.paths." + service);
        return made(builder, type, instances(environment, service), path);
      }
    };
  }

  /** A client that asks instances of a service in turn, below a path. */
  static <T> T made(RestClient.Builder builder, Class<T> type, List<URI> instances, String path) {
    RestClient client =
        builder
            .clone()
            .baseUrl(instances.get(0) + path)
            .requestInterceptor(new Instances(instances))
            .build();
    return HttpClients.of(type, client);
  }

  private static List<URI> instances(Environment environment, String service) {
    String urls = environment.getRequiredProperty("shop.at." + service);
    return Stream.of(urls.split(",")).map(String::trim).map(URI::create).toList();
  }
}
