package io.patternbench.cinema.web;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonMappingException.Reference;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.validation.FieldError;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClientException;
import org.springframework.web.client.RestClientResponseException;

/** Everything that can go wrong, as problem details (RFC 9457). */
public final class Problems {
  private static final Logger LOG = LoggerFactory.getLogger(Problems.class);

  private Problems() {}

  /** A field whose value is not allowed. */
  record Invalid(String field, String message) {
    static Invalid of(FieldError error) {
      return new Invalid(error.getField(), error.getDefaultMessage());
    }
  }

  public static ErrorResponseException badRequest(String detail) {
    return problem(HttpStatus.BAD_REQUEST, detail, null);
  }

  /** All fields of a body that are wrong, at once. */
  static ErrorResponseException invalid(List<FieldError> errors) {
    List<Invalid> invalid = errors.stream().map(Invalid::of).toList();
    ErrorResponseException problem =
        badRequest(
            invalid.stream()
                .map(e -> e.field() + " " + e.message())
                .sorted()
                .collect(Collectors.joining(", ")));
    problem.getBody().setProperty("errors", invalid);
    return problem;
  }

  /** A body that is not JSON, or has a value of another kind. */
  static ErrorResponseException unreadable(JsonProcessingException cause) {
    String path = cause instanceof JsonMappingException mapping ? path(mapping) : "";
    return badRequest(path.isEmpty() ? "the body is not JSON" : path + " cannot be read");
  }

  private static String path(JsonMappingException cause) {
    return cause.getPath().stream()
        .map(Reference::getFieldName)
        .filter(Objects::nonNull)
        .collect(Collectors.joining("."));
  }

  public static ErrorResponseException notFound(String detail) {
    return problem(HttpStatus.NOT_FOUND, detail, null);
  }

  public static ErrorResponseException unprocessable(String detail) {
    return problem(HttpStatus.UNPROCESSABLE_ENTITY, detail, null);
  }

  /** Something was not done, which may be done at another time. */
  public static ErrorResponseException unavailable(String detail, Throwable cause) {
    return problem(HttpStatus.SERVICE_UNAVAILABLE, detail, cause);
  }

  /** A failure of ours that is not foreseen, or has no better status in what was published. */
  public static ErrorResponseException internal(String detail, Throwable cause) {
    return problem(HttpStatus.INTERNAL_SERVER_ERROR, detail, cause);
  }

  /** Any exception as a problem; what nobody foresaw is logged, and the caller sees no detail. */
  public static ErrorResponseException of(RuntimeException e) {
    if (e instanceof ErrorResponseException problem) {
      return problem;
    }
    if (e instanceof RestClientException call) {
      return ofCall(call);
    }
    LOG.error("not foreseen", e);
    return internal("this is our fault, and it is logged", e);
  }

  private static ErrorResponseException ofCall(RestClientException call) {
    if (call instanceof RestClientResponseException answer) {
      String detail = "the next service answered " + answer.getStatusCode().value();
      return problem(HttpStatus.BAD_GATEWAY, detail, call);
    }
    boolean slow =
        call instanceof ResourceAccessException
            && call.getCause() instanceof SocketTimeoutException;
    return slow
        ? problem(HttpStatus.GATEWAY_TIMEOUT, "the next service is too slow", call)
        : problem(HttpStatus.BAD_GATEWAY, "the next service does not answer", call);
  }

  private static ErrorResponseException problem(
      HttpStatusCode status, String detail, Throwable cause) {
    return new ErrorResponseException(
        status, ProblemDetail.forStatusAndDetail(status, detail), cause);
  }
}
