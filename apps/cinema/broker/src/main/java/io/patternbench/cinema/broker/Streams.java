package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Answer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/**
 * Streams of server-sent events. They are written by threads of their own: a client that reads
 * slowly holds up nobody who reads messages.
 */
@Component
class Streams implements DisposableBean {
  // A stream ends when its wait is over; the web server's own limit is for those that hang.
  private static final Duration HANGS = Duration.ofSeconds(30);

  private final ExecutorService writers = Executors.newCachedThreadPool();
  private final ScheduledExecutorService waits = Executors.newSingleThreadScheduledExecutor();

  /** Opens a stream of a request's answers, those that are there included. */
  SseEmitter open(OpenRequest request, Duration wait) {
    SseEmitter emitter = new SseEmitter(wait.plus(HANGS).toMillis());
    Stream stream = new Stream(request, emitter);
    Consumer<Answers> listener = answers -> writers.execute(() -> stream.write(false));
    emitter.onCompletion(() -> request.remove(listener));
    waits.schedule(
        () -> writers.execute(() -> stream.write(true)), wait.toMillis(), TimeUnit.MILLISECONDS);
    request.listen(listener);
    return emitter;
  }

  private static final class Stream {
    private final OpenRequest request;
    private final SseEmitter emitter;
    private int written;
    private boolean ended;

    private Stream(OpenRequest request, SseEmitter emitter) {
      this.request = request;
      this.emitter = emitter;
    }

    /** Writes what has come since, and ends with the last answer or when time is over. */
    private synchronized void write(boolean timeIsOver) {
      Answers answers = request.answers();
      if (ended) {
        return;
      }
      ended = answers.complete() || timeIsOver;
      try {
        writeNew(answers.come());
        if (ended) {
          send(answers.complete() ? "complete" : "incomplete", answers.counted());
          emitter.complete();
        }
      } catch (IOException | IllegalStateException gone) {
        ended = true;
        emitter.completeWithError(gone);
      }
    }

    private void writeNew(List<Answer> come) throws IOException {
      for (; written < come.size(); written++) {
        Answer answer = come.get(written);
        send(
            answer.failed() ? "problem" : "answer",
            new String(answer.json(), StandardCharsets.UTF_8));
      }
    }

    private void send(String event, String data) throws IOException {
      emitter.send(SseEmitter.event().name(event).data(data));
    }
  }

  @Override
  public void destroy() {
    waits.shutdownNow();
    writers.shutdownNow();
  }
}
