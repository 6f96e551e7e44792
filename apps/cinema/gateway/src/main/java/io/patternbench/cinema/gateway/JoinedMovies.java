package io.patternbench.cinema.gateway;

import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.Missing;
import io.patternbench.cinema.commons.Movie;
import io.patternbench.cinema.commons.MovieQuery;
import io.patternbench.cinema.gateway.OptionLevels.View;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.cloud.client.loadbalancer.reactive.ReactorLoadBalancerExchangeFilterFunction;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientException;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Joins what all cinemas answer in the gateway itself, without an aggregator.
 *
 * <p>Routes lead here while the gateway aggregates; from outside there is no way around them.
 */
@RestController
@RequestMapping(JoinedMovies.PATH)
class JoinedMovies {
  static final String PATH = "/joined";

  /** A cinema as a client with a small screen sees it. */
  record MovieNames(String cinemaName, List<String> movies) {
    static MovieNames of(Cinema cinema) {
      return new MovieNames(
          cinema.cinemaName(), cinema.movies().stream().map(Movie::name).toList());
    }
  }

  private final WebClient client;
  private final List<String> cinemas;
  private final OptionSettings settings;
  private final Duration limit;

  JoinedMovies(
      WebClient.Builder builder,
      ReactorLoadBalancerExchangeFilterFunction instances,
      GatewayProperties properties,
      OptionSettings settings,
      @Value("${spring.cloud.gateway.server.webflux.httpclient.response-timeout}") Duration limit) {
    this.client = builder.clone().filter(instances).build();
    this.cinemas = properties.cinemas().stream().sorted().toList();
    this.settings = settings;
    this.limit = limit;
  }

  @GetMapping("/list")
  Flux<Object> list() {
    return each(cinema -> client.get().uri(address(cinema) + "/list"));
  }

  @PostMapping("/find")
  Flux<Object> find(@RequestBody MovieQuery query) {
    return each(
        cinema ->
            client
                .post()
                .uri(address(cinema) + "/find")
                .contentType(MediaType.APPLICATION_JSON)
                .bodyValue(query));
  }

  private static String address(String cinema) {
    return "http://" + Cinema.service(cinema) + "/cinema/" + cinema + "/movie";
  }

  /** The answers in the order of the cinemas' names, however they are asked. */
  private Flux<Object> each(Function<String, WebClient.RequestHeadersSpec<?>> call) {
    OptionLevels levels = settings.levels();
    int together = levels.calls() == Calls.SEQUENTIAL ? 1 : cinemas.size();
    return Flux.fromIterable(cinemas)
        .flatMapSequential(cinema -> answered(call.apply(cinema), levels.missing()), together)
        .<Object>map(cinema -> levels.view() == View.NAMES ? MovieNames.of(cinema) : cinema)
        .collectList() // else the answer would have begun when a later cinema fails
        .flatMapIterable(Function.identity());
  }

  private Mono<Cinema> answered(WebClient.RequestHeadersSpec<?> call, Missing missing) {
    Mono<Cinema> answer =
        call.retrieve()
            .bodyToMono(Cinema.class)
            .timeout(limit)
            .onErrorMap(TimeoutException.class, e -> failed(HttpStatus.GATEWAY_TIMEOUT))
            .onErrorMap(WebClientException.class, e -> failed(HttpStatus.BAD_GATEWAY));
    return missing == Missing.FAIL
        ? answer
        : answer.onErrorResume(ResponseStatusException.class, e -> Mono.empty());
  }

  private static ResponseStatusException failed(HttpStatus status) {
    return new ResponseStatusException(status, "a cinema did not answer");
  }
}
