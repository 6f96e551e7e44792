package io.patternbench.insurance.commons.bundle;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.apps.commons.Problems;
import jakarta.validation.ConstraintViolation;
import jakarta.validation.Validator;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Reads the items of a bundle, each by itself: a bad one has its own problem. */
public final class ItemReader {
  private final ObjectMapper json;
  private final Validator validator;
  private final int limit;

  public ItemReader(ObjectMapper json, Validator validator, int limit) {
    this.json = json;
    this.validator = validator;
    this.limit = limit;
  }

  /**
   * The ids of a list such as {@code a,b,c}; a list of one ends with a comma, as {@code a,}.
   *
   * @throws org.springframework.web.ErrorResponseException if there are too few or too many
   */
  public Items<String> ids(String list) {
    return Items.of(checked(Arrays.asList(list.split(","))), id -> id);
  }

  /** Bodies of things that do not have an id yet. */
  public <T> Items<T> bodies(List<JsonNode> bodies, Class<T> type) {
    return Items.of(checked(bodies), body -> null).each(body -> body(body, type));
  }

  /** Something, and its id. */
  public record Identified<T>(String id, T body) {}

  /** Bodies that hold their id in a field. */
  public <T> Items<Identified<T>> identified(List<JsonNode> bodies, Class<T> type, String idField) {
    return Items.of(checked(bodies), body -> body.path(idField).textValue())
        .each(body -> new Identified<>(id(body, idField), body(body, type)));
  }

  private <T> List<T> checked(List<T> items) {
    if (items.isEmpty() || items.size() > limit) {
      throw Problems.badRequest(
          "a bundle has from 1 to %d items, this one has %d".formatted(limit, items.size()));
    }
    return items;
  }

  private static String id(JsonNode body, String idField) {
    if (!body.path(idField).isTextual()) {
      throw Problems.invalid(List.of(new Problems.Invalid(idField, "must not be null")));
    }
    return body.path(idField).textValue();
  }

  private static Problems.Invalid invalid(ConstraintViolation<?> violation) {
    return new Problems.Invalid(violation.getPropertyPath().toString(), violation.getMessage());
  }

  private <T> T body(JsonNode body, Class<T> type) {
    T value = converted(body, type);
    Set<ConstraintViolation<T>> violations = validator.validate(value);
    if (!violations.isEmpty()) {
      throw Problems.invalid(violations.stream().map(ItemReader::invalid).toList());
    }
    return value;
  }

  private <T> T converted(JsonNode body, Class<T> type) {
    if (!body.isObject()) {
      String got = body.getNodeType().name().toLowerCase(Locale.ROOT);
      throw Problems.badRequest("expected a JSON object, got " + got);
    }
    try {
      return json.treeToValue(body, type);
    } catch (JsonProcessingException e) {
      throw Problems.unreadable(e);
    }
  }
}
