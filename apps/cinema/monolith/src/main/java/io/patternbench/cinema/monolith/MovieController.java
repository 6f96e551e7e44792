package io.patternbench.cinema.monolith;

import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.MovieQuery;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Movies of one cinema, and of all of them. */
@RestController
class MovieController {
  private final Cinemas cinemas;

  MovieController(Cinemas cinemas) {
    this.cinemas = cinemas;
  }

  @GetMapping("/api/movie/list")
  List<Cinema> all() {
    return cinemas.all().stream().map(one -> one.movies()).toList();
  }

  @PostMapping("/api/movie/find")
  List<Cinema> findInAll(@RequestBody MovieQuery query) {
    return cinemas.all().stream().map(one -> one.find(query)).toList();
  }

  @GetMapping("/cinema/{name}/movie/list")
  Cinema list(@PathVariable String name) {
    return cinemas.of(name).movies();
  }

  @PostMapping("/cinema/{name}/movie/find")
  Cinema find(@PathVariable String name, @RequestBody MovieQuery query) {
    return cinemas.of(name).find(query);
  }
}
