package io.patternbench.apps.commons;

import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.support.RestClientAdapter;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;

/** How a service calls another one. */
public final class HttpClients {
  private HttpClients() {}

  /** Clients with pooled connections. Automatic retries would be attempts that nothing counts. */
  public static HttpComponentsClientHttpRequestFactoryBuilder pooled(int perService, int total) {
    return ClientHttpRequestFactoryBuilder.httpComponents()
        .withHttpClientCustomizer(HttpClientBuilder::disableAutomaticRetries)
        .withConnectionManagerCustomizer(
            pool -> pool.setMaxConnPerRoute(perService).setMaxConnTotal(total));
  }

  /** The implementation of an interface whose methods say what they request. */
  public static <T> T of(Class<T> type, RestClient client) {
    return HttpServiceProxyFactory.builderFor(RestClientAdapter.create(client))
        .build()
        .createClient(type);
  }
}
