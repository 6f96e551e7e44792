package io.patternbench.cinema.aggregator;

import io.patternbench.apps.commons.HttpClients;
import io.patternbench.cinema.aggregator.Levels.Connections;
import java.util.EnumMap;
import java.util.Map;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.ClientHttpRequestFactorySettings;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;

/** An HTTP client for each way of keeping connections. */
@Component
class Clients {
  private final Map<Connections, RestClient> clients = new EnumMap<>(Connections.class);

  Clients(RestClient.Builder builder, AggregatorProperties properties) {
    var timeouts =
        ClientHttpRequestFactorySettings.defaults()
            .withConnectTimeout(properties.connectTimeout())
            .withReadTimeout(properties.readTimeout());
    Map<Connections, ClientHttpRequestFactoryBuilder<?>> kinds =
        Map.of(
            Connections.JDK, ClientHttpRequestFactoryBuilder.simple(),
            Connections.UNPOOLED, unpooled(),
            Connections.POOLED, pooled(properties.poolSize()));
    kinds.forEach(
        (connections, kind) ->
            clients.put(connections, builder.clone().requestFactory(kind.build(timeouts)).build()));
  }

  private static HttpComponentsClientHttpRequestFactoryBuilder pooled(int size) {
    return HttpClients.pooled(size, 3 * size);
  }

  private static HttpComponentsClientHttpRequestFactoryBuilder unpooled() {
    return pooled(Integer.MAX_VALUE / 3)
        .withHttpClientCustomizer(
            client -> client.setConnectionReuseStrategy((request, response, context) -> false));
  }

  RestClient of(Connections connections) {
    return clients.get(connections);
  }
}
