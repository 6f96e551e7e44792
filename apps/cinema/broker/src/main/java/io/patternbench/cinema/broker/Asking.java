package io.patternbench.cinema.broker;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.broker.AskingSettings.Distribution;
import io.patternbench.cinema.messages.Codec;
import io.patternbench.cinema.messages.MessagingProperties;
import io.patternbench.cinema.messages.Names;
import io.patternbench.cinema.messages.NotSentException;
import io.patternbench.cinema.messages.Publisher;
import io.patternbench.cinema.messages.Request;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Service;

/** Passes requests on as messages, and finds them again by their ids. */
@Service
class Asking {
  private static final int SHORTEST_TOKEN = 16;
  private static final int LONGEST_TOKEN = 128;

  private final OpenRequests open;
  private final Publisher publisher;
  private final Codec codec;
  private final AskingSettings settings;
  private final Replica replica;
  private final List<String> cinemas;

  Asking(
      OpenRequests open,
      Publisher publisher,
      Codec codec,
      AskingSettings settings,
      Replica replica,
      MessagingProperties properties) {
    this.open = open;
    this.publisher = publisher;
    this.codec = codec;
    this.settings = settings;
    this.replica = replica;
    this.cinemas = properties.cinemas();
  }

  /** Asks all cinemas; returns the correlation id. */
  String all(String subject, Request request, @Nullable String token) {
    boolean once = settings.level().distribution() == Distribution.PUBLISH;
    List<String> keys = once ? List.of(Names.TO_ALL) : cinemas.stream().map(Names::to).toList();
    return send(subject, cinemas, keys, request, token);
  }

  /** Asks one cinema; returns the correlation id. */
  String one(String subject, String cinema, Request request, @Nullable String token) {
    if (!cinemas.contains(cinema)) {
      throw Problems.notFound(
          "there is no cinema of this name: there are " + String.join(", ", cinemas));
    }
    return send(subject, List.of(cinema), List.of(Names.to(cinema)), request, token);
  }

  private String send(
      String subject,
      List<String> asked,
      List<String> keys,
      Request request,
      @Nullable String token) {
    checkToken(token);
    OpenRequest opened = open.open(subject, asked, token);
    String id = opened.id().toString();
    try {
      keys.forEach(key -> publisher.send(key, codec.request(id, request, replica.key())));
      return id;
    } catch (NotSentException e) {
      open.forget(opened);
      throw Problems.unavailable(e.getMessage() + ": nothing is accepted now", e);
    }
  }

  private static void checkToken(@Nullable String token) {
    if (token != null && (token.length() < SHORTEST_TOKEN || token.length() > LONGEST_TOKEN)) {
      throw Problems.badRequest(
          "%s: expected %d to %d characters, got %d"
              .formatted(Api.TOKEN, SHORTEST_TOKEN, LONGEST_TOKEN, token.length()));
    }
  }

  /** The request of this id. One of another client, or about something else, is not known. */
  OpenRequest opened(String id, String subject, @Nullable String token) {
    return uuid(id)
        .flatMap(uuid -> open.find(uuid, subject, token))
        .orElseThrow(() -> Problems.notFound("there is no request with this correlation id"));
  }

  /** An id as a UUID, if it is one. */
  static Optional<UUID> uuid(String id) {
    try {
      return Optional.of(UUID.fromString(id));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
