package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Answer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.springframework.lang.Nullable;

/** A request whose answers come, or have come. */
final class OpenRequest {
  private final UUID id;
  private final String subject;
  private final Set<String> missing;
  private final int expected;
  private final @Nullable String token;
  private final List<Answer> come = new ArrayList<>();
  private final List<Consumer<Answers>> listeners = new ArrayList<>();

  /**
   * @param subject what is asked, which is fetched where it was asked
   * @param cinemas who is asked
   * @param token of the client that may fetch the answers; null where the id is enough
   */
  OpenRequest(UUID id, String subject, List<String> cinemas, @Nullable String token) {
    this.id = id;
    this.subject = subject;
    this.missing = new HashSet<>(cinemas);
    this.expected = cinemas.size();
    this.token = token;
  }

  UUID id() {
    return id;
  }

  /** Whether this is about a subject, and a client with this token may know of it. */
  boolean isOf(String other, @Nullable String clientToken) {
    return subject.equals(other) && (token == null || isToken(clientToken));
  }

  /** Compares in a time that says nothing about how much of a guess is right. */
  private boolean isToken(@Nullable String guess) {
    return guess != null && MessageDigest.isEqual(bytes(token), bytes(guess));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Whether an answer of this cinema is still to come. */
  synchronized boolean expects(String cinema) {
    return missing.contains(cinema);
  }

  /** Takes an answer in, unless the cinema has answered before, or was not asked. */
  void add(Answer answer) {
    List<Consumer<Answers>> told;
    Answers now;
    synchronized (this) {
      if (!missing.remove(answer.cinema())) {
        return;
      }
      come.add(answer);
      told = List.copyOf(listeners);
      now = answers();
    }
    told.forEach(listener -> listener.accept(now));
  }

  synchronized Answers answers() {
    return new Answers(List.copyOf(come), expected);
  }

  /**
   * Tells a listener what there is now, and again whenever an answer comes, until it is removed.
   */
  void listen(Consumer<Answers> listener) {
    Answers now;
    synchronized (this) {
      listeners.add(listener);
      now = answers();
    }
    listener.accept(now);
  }

  synchronized void remove(Consumer<Answers> listener) {
    listeners.remove(listener);
  }
}
