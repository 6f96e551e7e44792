package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.MovieQuery;
import java.util.List;
import org.springframework.http.HttpHeaders;
import org.springframework.lang.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/api/movie")
class MovieController {
  private final Aggregation aggregation;

  MovieController(Aggregation aggregation) {
    this.aggregation = aggregation;
  }

  @GetMapping("/list")
  List<Cinema> list(
      @Nullable @RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String caller) {
    return aggregation.list(caller);
  }

  @PostMapping("/find")
  List<Cinema> find(
      @Nullable @RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String caller,
      @RequestBody MovieQuery query) {
    return aggregation.find(caller, query);
  }
}
