package io.patternbench.cinema.cinema.http;

import io.patternbench.cinema.cinema.CinemaService;
import io.patternbench.cinema.commons.MovieQuery;
import org.springframework.context.annotation.Profile;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@Profile("by-http")
@RequestMapping("/movie")
class MovieController {
  private final CinemaService cinema;
  private final MovieFields fields;

  MovieController(CinemaService cinema, MovieFields fields) {
    this.cinema = cinema;
    this.fields = fields;
  }

  @GetMapping("/list")
  MovieFields.Answer list() {
    return fields.answer(cinema.movies());
  }

  @PostMapping("/find")
  MovieFields.Answer find(@RequestBody MovieQuery query) {
    return fields.answer(cinema.find(query));
  }

  @GetMapping("/delay/{seconds}")
  String delay(@PathVariable int seconds) {
    return Delay.of(seconds);
  }
}
