package io.patternbench.cinema.cinema.http;

import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.commons.Joined;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.annotation.Profile;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** The movies of several cinemas that ask each other, without an aggregator. */
@RestController
@Profile("by-http")
@RequestMapping("/movie")
class LinkedMovies implements DisposableBean {
  private final CinemaService cinema;
  private final MovieFields fields;
  private final Neighbours neighbours;
  // As many threads as calls are under way: requests at a time, times cinemas.
  private final ExecutorService threads = Executors.newCachedThreadPool();

  LinkedMovies(CinemaService cinema, MovieFields fields, Neighbours neighbours) {
    this.cinema = cinema;
    this.fields = fields;
    this.neighbours = neighbours;
  }

  /** A chain: each cinema adds its list, and asks the next one by name for all that follow. */
  @GetMapping("/chain")
  List<MovieFields.Answer> chain() {
    List<MovieFields.Answer> lists = new ArrayList<>(List.of(own()));
    neighbours.of(cinema.name()).stream()
        .filter(name -> name.compareTo(cinema.name()) > 0)
        .findFirst()
        .ifPresent(next -> lists.addAll(neighbours.chain(next)));
    return lists;
  }

  /** Branches: the cinema that is asked asks all others at the same time. */
  @GetMapping("/branches")
  List<MovieFields.Answer> branches() {
    List<CompletableFuture<MovieFields.Answer>> asked =
        neighbours.of(cinema.name()).stream()
            .map(name -> CompletableFuture.supplyAsync(() -> neighbours.list(name), threads))
            .toList();
    List<MovieFields.Answer> lists = new ArrayList<>(List.of(own()));
    asked.forEach(answer -> lists.add(Joined.of(answer)));
    return lists;
  }

  private MovieFields.Answer own() {
    return fields.answer(cinema.movies());
  }

  @Override
  public void destroy() {
    threads.shutdown();
  }
}
