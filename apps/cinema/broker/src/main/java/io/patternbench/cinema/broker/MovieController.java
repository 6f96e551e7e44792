package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Request;
import io.patternbench.cinema.messages.Request.Endpoint;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/api/movie")
class MovieController {
  private static final String SUBJECT = "movies";

  private final Asking asking;
  private final Fetching fetching;

  MovieController(Asking asking, Fetching fetching) {
    this.asking = asking;
    this.fetching = fetching;
  }

  @GetMapping("/list")
  ResponseEntity<String> list(@RequestHeader(name = Api.TOKEN, required = false) String token) {
    return Api.text(asking.all(SUBJECT, Request.of(Endpoint.LIST_MOVIES), token));
  }

  @GetMapping("/list/{id}")
  Object answers(
      @PathVariable String id,
      @RequestParam(required = false) String fetch,
      @RequestHeader(name = Api.TOKEN, required = false) String token) {
    return fetching.fetch(asking.opened(id, SUBJECT, token), Form.LIST, fetch);
  }
}
