package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.commons.Calls;
import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.Joined;
import io.patternbench.cinema.commons.Missing;
import io.patternbench.cinema.commons.MovieQuery;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Service;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClientException;

/** Asks every cinema of the registry the same, and joins the answers. */
@Service
class Aggregation implements DisposableBean {
  private static final Logger LOG = LoggerFactory.getLogger(Aggregation.class);

  private final Directory directory;
  private final Clients clients;
  private final AggregationSettings settings;
  // As many threads as calls are under way: requests at a time, times cinemas.
  private final ExecutorService threads = Executors.newCachedThreadPool();

  Aggregation(Directory directory, Clients clients, AggregationSettings settings) {
    this.directory = directory;
    this.clients = clients;
    this.settings = settings;
  }

  /**
   * Asks each for its movies; who signed in at the gateway stays signed in there for these calls.
   */
  List<Cinema> list(@Nullable String authorization) {
    return ask(authorization, (client, address) -> client.get().uri(address + "/movie/list"));
  }

  List<Cinema> find(@Nullable String authorization, MovieQuery query) {
    return ask(
        authorization,
        (client, address) ->
            client
                .post()
                .uri(address + "/movie/find")
                .contentType(MediaType.APPLICATION_JSON)
                .body(query));
  }

  /** Makes the request to one cinema. */
  private interface Call {
    RestClient.RequestHeadersSpec<?> to(RestClient client, String address);
  }

  private List<Cinema> ask(@Nullable String authorization, Call call) {
    Levels levels = settings.levels();
    RestClient client = clients.of(levels.connections());
    Function<String, Supplier<Cinema>> one =
        cinema ->
            () ->
                answered(
                    cinema,
                    levels.missing(),
                    () ->
                        call.to(client, directory.address(cinema, levels.via()))
                            .headers(headers -> pass(authorization, headers))
                            .retrieve()
                            .body(Cinema.class));
    List<Supplier<Cinema>> calls = directory.cinemas().stream().map(one).toList();
    return all(calls, levels.calls()).stream().filter(Objects::nonNull).toList();
  }

  private static void pass(@Nullable String authorization, HttpHeaders headers) {
    if (authorization != null) {
      headers.set(HttpHeaders.AUTHORIZATION, authorization);
    }
  }

  /** What a cinema answers; null where it does not, and that is to be skipped. */
  private static Cinema answered(String cinema, Missing missing, Supplier<Cinema> call) {
    try {
      return call.get();
    } catch (RestClientException | ErrorResponseException e) {
      if (missing == Missing.FAIL) {
        throw e;
      }
      LOG.debug("{} is left out: {}", cinema, e.getMessage());
      return null;
    }
  }

  private List<Cinema> all(List<Supplier<Cinema>> calls, Calls how) {
    List<Cinema> answers = new ArrayList<>();
    if (how == Calls.SEQUENTIAL) {
      calls.forEach(call -> answers.add(call.get()));
    } else {
      List<CompletableFuture<Cinema>> underWay =
          calls.stream().map(call -> CompletableFuture.supplyAsync(call, threads)).toList();
      underWay.forEach(answer -> answers.add(Joined.of(answer)));
    }
    return answers;
  }

  @Override
  public void destroy() {
    threads.shutdown();
  }
}
