package io.patternbench.cinema.broker;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.broker.Levels.Fetch;
import io.patternbench.cinema.messages.Answer;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Service;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** Gives clients what has come of their requests, in the way that the setting or they say. */
@Service
class Fetching {
  private static final String RETRY_AFTER_SECONDS = "1";

  private final FetchSettings settings;
  private final Streams streams;

  Fetching(FetchSettings settings, Streams streams) {
    this.settings = settings;
    this.streams = streams;
  }

  /**
   * What a controller returns for a request that is asked for its answers.
   *
   * @param wanted the way of fetching; null for that of the settings
   */
  Object fetch(OpenRequest request, Form form, @Nullable String wanted) {
    Levels levels = settings.levels();
    Fetch way = wanted == null ? levels.fetch() : Fetch.of(wanted);
    return switch (way) {
      case AT_ONCE, UNTIL_READY -> response(request.answers(), form, way);
      case LONG_POLL -> held(request, form, levels.holdFor());
      case PUSHED -> pushed(request, levels.holdFor());
    };
  }

  private SseEmitter pushed(OpenRequest request, Duration wait) {
    return streams.open(request, wait);
  }

  private static DeferredResult<ResponseEntity<byte[]>> held(
      OpenRequest request, Form form, Duration wait) {
    // To the web server 0 would be for ever.
    DeferredResult<ResponseEntity<byte[]>> result =
        new DeferredResult<>(Math.max(1, wait.toMillis()));
    Consumer<Answers> listener =
        answers -> {
          if (answers.complete()) {
            result.setResult(response(answers, form, Fetch.LONG_POLL));
          }
        };
    result.onTimeout(() -> result.setResult(response(request.answers(), form, Fetch.LONG_POLL)));
    result.onCompletion(() -> request.remove(listener));
    request.listen(listener);
    return result;
  }

  private static ResponseEntity<byte[]> response(Answers answers, Form form, Fetch way) {
    Optional<Answer> failed = answers.come().stream().filter(Answer::failed).findFirst();
    if (failed.isPresent()) {
      return with(answers, failed.get().status())
          .contentType(MediaType.APPLICATION_PROBLEM_JSON)
          .body(failed.get().json());
    }
    if (way == Fetch.AT_ONCE && answers.come().isEmpty()) {
      throw Problems.internal("no cinema has answered yet", null);
    }
    boolean ready = way == Fetch.AT_ONCE || answers.complete();
    ResponseEntity.BodyBuilder response =
        with(answers, ready ? HttpStatus.OK.value() : HttpStatus.ACCEPTED.value());
    if (!ready) {
      response.header(HttpHeaders.RETRY_AFTER, RETRY_AFTER_SECONDS);
    }
    return response.contentType(MediaType.APPLICATION_JSON).body(form.body(answers));
  }

  private static ResponseEntity.BodyBuilder with(Answers answers, int status) {
    return ResponseEntity.status(status).header(Api.ANSWERS, answers.counted());
  }
}
