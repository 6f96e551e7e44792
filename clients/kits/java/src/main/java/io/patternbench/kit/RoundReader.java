package io.patternbench.kit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonMappingException.Reference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.List;

/**
 * Turns the body of a request into a round that this client can run, or says why it isn't one.
 *
 * <p>patternbench sends what the contract's schema allows. What does not fit the records is
 * therefore another version of the contract, or a strategy that no client of this kit has.
 */
final class RoundReader {
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /**
   * What was read.
   *
   * @param round null when there are problems
   */
  record Read(Round round, List<Problem> problems) {}

  private RoundReader() {}

  static Read read(byte[] body, Adapter adapter) throws IOException {
    try {
      Round round = JSON.readValue(body, Round.class);
      List<Problem> problems = problems(round, adapter);
      return new Read(problems.isEmpty() ? round : null, problems);
    } catch (InvalidTypeIdException e) {
      return refused(path(e), e.getTypeId(), "is unknown here: " + e.getOriginalMessage());
    } catch (JsonMappingException e) {
      return refused(path(e), null, "is not as the contract has it: " + e.getOriginalMessage());
    } catch (JsonProcessingException e) {
      return refused("", null, "is not JSON: " + e.getOriginalMessage());
    }
  }

  private static List<Problem> problems(Round round, Adapter adapter) {
    if (round == null || round.contract() != Round.CONTRACT) {
      Object version = round == null ? null : round.contract();
      return List.of(new Problem("contract", version, "is another version of the contract", "1"));
    }
    return Expressible.problems(round, adapter);
  }

  private static Read refused(String path, Object value, String message) {
    return new Read(null, List.of(new Problem(path, value, message, null)));
  }

  private static String path(JsonMappingException e) {
    StringBuilder path = new StringBuilder();
    for (Reference reference : e.getPath()) {
      String name = reference.getFieldName();
      path.append(name == null ? "[" + reference.getIndex() + "]" : "." + name);
    }
    return path.length() > 0 && path.charAt(0) == '.' ? path.substring(1) : path.toString();
  }
}
