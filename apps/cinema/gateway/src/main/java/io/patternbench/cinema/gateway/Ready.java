package io.patternbench.cinema.gateway;

import java.util.List;
import org.springframework.cloud.client.loadbalancer.reactive.ReactorLoadBalancerExchangeFilterFunction;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientException;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Says whether the service of every route answers, to whoever asks.
 *
 * <p>The gateway asks with a token of its own, so that this can be known where it checks tokens.
 */
@RestController
class Ready {
  static final String PATH = "/ready";

  private final WebClient client;
  private final List<Target> targets;
  private final Tokens tokens;

  Ready(
      WebClient.Builder builder,
      ReactorLoadBalancerExchangeFilterFunction instances,
      GatewayProperties properties,
      Tokens tokens) {
    this.client = builder.clone().filter(instances).build();
    this.targets = Target.all(properties.cinemas());
    this.tokens = tokens;
  }

  @GetMapping(PATH)
  Mono<Void> ready() {
    return Flux.fromIterable(targets).concatMap(this::answers).then();
  }

  private Mono<?> answers(Target target) {
    return client
        .get()
        .uri("http://" + target.service() + target.prefix() + "/movie/list")
        .headers(headers -> headers.setBearerAuth(tokens.signed()))
        .retrieve()
        .toBodilessEntity()
        .onErrorMap(WebClientException.class, e -> silent(target));
  }

  private static ResponseStatusException silent(Target target) {
    return new ResponseStatusException(
        HttpStatus.SERVICE_UNAVAILABLE, target.service() + " does not answer");
  }
}
