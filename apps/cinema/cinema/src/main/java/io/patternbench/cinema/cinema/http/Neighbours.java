package io.patternbench.cinema.cinema.http;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.commons.Cinema;
import java.time.Duration;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.ClientHttpRequestFactorySettings;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.context.annotation.Profile;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;

/** The other cinemas of the registry, and what they answer. */
@Component
@Profile("by-http")
class Neighbours {
  private static final ParameterizedTypeReference<List<MovieFields.Answer>> LISTS =
      new ParameterizedTypeReference<>() {};

  private final DiscoveryClient discovery;
  private final RestClient client;

  Neighbours(
      DiscoveryClient discovery,
      RestClient.Builder builder,
      @Value("${cinema.connect-timeout}") Duration connectTimeout,
      @Value("${cinema.read-timeout}") Duration readTimeout) {
    var timeouts =
        ClientHttpRequestFactorySettings.defaults()
            .withConnectTimeout(connectTimeout)
            .withReadTimeout(readTimeout);
    this.discovery = discovery;
    this.client =
        builder.requestFactory(ClientHttpRequestFactoryBuilder.simple().build(timeouts)).build();
  }

  /** The names of all cinemas but this one that are registered, in alphabetical order. */
  List<String> of(String cinema) {
    return Cinema.names(discovery.getServices()).filter(name -> !name.equals(cinema)).toList();
  }

  /** The list of one cinema. */
  MovieFields.Answer list(String cinema) {
    return client.get().uri(address(cinema) + "/list").retrieve().body(MovieFields.Answer.class);
  }

  /** The lists of one cinema and of all that come after it. */
  List<MovieFields.Answer> chain(String cinema) {
    return client.get().uri(address(cinema) + "/chain").retrieve().body(LISTS);
  }

  private String address(String cinema) {
    String service = Cinema.service(cinema);
    ServiceInstance instance =
        discovery.getInstances(service).stream()
            .findFirst()
            .orElseThrow(() -> Problems.unavailable("there is no instance of " + service, null));
    return instance.getUri() + "/cinema/" + cinema + "/movie";
  }
}
