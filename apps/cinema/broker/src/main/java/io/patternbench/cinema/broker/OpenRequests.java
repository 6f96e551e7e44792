package io.patternbench.cinema.broker;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.broker.Levels.Eviction;
import io.patternbench.cinema.messages.Answer;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.springframework.lang.Nullable;

/**
 * All requests that clients may still fetch answers of, within a bound of memory.
 *
 * <p>A new request is refused when there is no memory for it and for answers of the usual size;
 * those that were accepted are kept. An answer that is larger than the memory left becomes a
 * failure that says so.
 */
class OpenRequests {
  /** Memory of a request without answers; a test compares it with the heap. */
  static final int REQUEST_BYTES = 768;

  /** Memory that is set aside for an answer: a cinema's movies and what surrounds them. */
  static final int ANSWER_BYTES = 640;

  private static final int AROUND_AN_ANSWER = 128;

  private static final class Entry {
    private final OpenRequest request;
    private final long openedAt;
    private long bytes;

    private Entry(OpenRequest request, long openedAt, long bytes) {
      this.request = request;
      this.openedAt = openedAt;
      this.bytes = bytes;
    }
  }

  private final long limit;
  private final FetchSettings settings;
  private final Supplier<UUID> ids;
  private final LongSupplier nanos;
  private final Map<UUID, Entry> open = new LinkedHashMap<>(); // the oldest first
  private long bytes;

  /**
   * @param limit bytes of all requests and answers
   * @param ids draws ids that cannot be guessed
   * @param nanos a clock that only goes forward, in nanoseconds
   */
  OpenRequests(long limit, FetchSettings settings, Supplier<UUID> ids, LongSupplier nanos) {
    this.limit = limit;
    this.settings = settings;
    this.ids = ids;
    this.nanos = nanos;
  }

  /**
   * Opens a request to some cinemas; its id cannot be guessed.
   *
   * @param subject what is asked
   * @param token of the client that may fetch the answers; null where the id is enough
   */
  synchronized OpenRequest open(String subject, List<String> cinemas, @Nullable String token) {
    evict();
    long needed = REQUEST_BYTES + (long) cinemas.size() * ANSWER_BYTES;
    if (bytes + needed > limit) {
      throw Problems.unavailable(
          "all memory for answers is in use: %d requests are open".formatted(open.size()), null);
    }
    OpenRequest request = new OpenRequest(ids.get(), subject, cinemas, token);
    open.put(request.id(), new Entry(request, nanos.getAsLong(), needed));
    bytes += needed;
    return request;
  }

  /** The request of this id and subject, if a client with this token may know of it. */
  synchronized Optional<OpenRequest> find(UUID id, String subject, @Nullable String token) {
    evict();
    return Optional.ofNullable(open.get(id))
        .map(entry -> entry.request)
        .filter(request -> request.isOf(subject, token));
  }

  /** Takes an answer in; says whether anybody had asked. */
  boolean answered(UUID id, Answer answer) {
    OpenRequest request;
    Answer kept;
    synchronized (this) {
      evict();
      Entry entry = open.get(id);
      if (entry == null) {
        return false;
      }
      request = entry.request;
      kept = reserve(entry, answer) ? answer : tooLarge(answer);
    }
    request.add(kept);
    return true;
  }

  /** Takes the memory for what of an answer goes beyond the usual size, if there is as much. */
  private boolean reserve(Entry entry, Answer answer) {
    long more = Math.max(0, answer.json().length + AROUND_AN_ANSWER - ANSWER_BYTES);
    if (more == 0 || !entry.request.expects(answer.cinema())) {
      return true;
    }
    if (bytes + more > limit) {
      return false;
    }
    bytes += more;
    entry.bytes += more;
    return true;
  }

  private static Answer tooLarge(Answer answer) {
    String problem =
        """
        {"type":"about:blank","title":"Service Unavailable","status":503,\
        "detail":"there is no memory for the answer of %s, which has %d bytes"}"""
            .formatted(answer.cinema(), answer.json().length);
    return new Answer(answer.cinema(), 503, problem.getBytes(StandardCharsets.UTF_8));
  }

  /** Forgets a request. */
  synchronized void forget(OpenRequest request) {
    Entry entry = open.remove(request.id());
    bytes -= entry == null ? 0 : entry.bytes;
  }

  synchronized void forgetAll() {
    open.clear();
    bytes = 0;
  }

  synchronized int size() {
    evict();
    return open.size();
  }

  synchronized long bytes() {
    evict();
    return bytes;
  }

  private void evict() {
    Levels levels = settings.levels();
    if (levels.eviction() == Eviction.NONE) {
      return;
    }
    long born = nanos.getAsLong() - levels.keep().toNanos();
    Iterator<Entry> oldest = open.values().iterator();
    while (oldest.hasNext()) {
      Entry entry = oldest.next();
      if (entry.openedAt - born > 0) {
        return;
      }
      oldest.remove();
      bytes -= entry.bytes;
    }
  }
}
