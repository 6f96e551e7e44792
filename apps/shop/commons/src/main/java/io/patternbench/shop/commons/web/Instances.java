package io.patternbench.shop.commons.web;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.http.client.support.HttpRequestWrapper;
import org.springframework.web.util.UriComponentsBuilder;

/**
 * Sends requests to the instances of a service in turn.
 *
 * <p>An instance that refuses the connection has seen nothing of the request, so the next one is
 * asked. Nothing else is tried again: that would be attempts that nobody counts.
 */
final class Instances implements ClientHttpRequestInterceptor {
  private final List<URI> instances;
  private final AtomicInteger turn = new AtomicInteger();

  Instances(List<URI> instances) {
    this.instances = List.copyOf(instances);
  }

  @Override
  public ClientHttpResponse intercept(
      HttpRequest request, byte[] body, ClientHttpRequestExecution execution) throws IOException {
    int first = turn.getAndIncrement();
    ConnectException refused = null;
    for (int i = 0; i < instances.size(); i++) {
      URI instance = instances.get(Math.floorMod(first + i, instances.size()));
      try {
        return execution.execute(new At(instance, request), body);
      } catch (ConnectException e) {
        refused = e;
      }
    }
    throw refused == null ? new ConnectException("no instance is known") : refused;
  }

  /** A request as one instance gets it. */
  private static final class At extends HttpRequestWrapper {
    private final URI uri;

    At(URI instance, HttpRequest request) {
      super(request);
      uri =
          UriComponentsBuilder.fromUri(request.getURI())
              .scheme(instance.getScheme())
              .host(instance.getHost())
              .port(instance.getPort())
              .build(true)
              .toUri();
    }

    @Override
    public URI getURI() {
      return uri;
    }
  }
}
