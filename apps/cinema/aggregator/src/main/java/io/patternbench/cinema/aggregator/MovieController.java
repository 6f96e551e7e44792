package io.patternbench.cinema.aggregator;

import io.patternbench.cinema.commons.Cinema;
import io.patternbench.cinema.commons.MovieQuery;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
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
  List<Cinema> list() {
    return aggregation.list();
  }

  @PostMapping("/find")
  List<Cinema> find(@RequestBody MovieQuery query) {
    return aggregation.find(query);
  }
}
