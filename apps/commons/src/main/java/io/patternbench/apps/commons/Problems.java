package io.patternbench.apps.commons;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonMappingException.Reference;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
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
  public record Invalid(String field, String message) {
    static Invalid of(FieldError error) {
      return new Invalid(error.getField(), error.getDefaultMessage());
    }
  }

  public static ErrorResponseException badRequest(String detail) {
    return problem(HttpStatus.BAD_REQUEST, detail, null);
  }

  /** All fields of a body that are wrong, at once. */
  public static ErrorResponseException invalid(List<Invalid> errors) {
    ErrorResponseException problem =
        badRequest(
            errors.stream()
                .map(error -> error.field() + " " + error.message())
                .sorted()
                .collect(Collectors.joining(", ")));
    problem.getBody().setProperty("errors", errors);
    return problem;
  }

  /** A body that is not JSON, or has a value of another type. */
  public static ErrorResponseException unreadable(JsonProcessingException cause) {
    String path = cause instanceof JsonMappingException mapping ? path(mapping) : "";
    return badRequest(path.isEmpty() ? "the body is not JSON" : path + " cannot be read");
  }

  private static String path(JsonMappingException cause) {
    return cause.getPath().stream()
        .map(Reference::getFieldName)
        .filter(Objects::nonNull)
        .collect(Collectors.joining("."));
  }

  public static ErrorResponseException unauthorized(String detail) {
    return problem(HttpStatus.UNAUTHORIZED, detail, null);
  }

  public static ErrorResponseException forbidden(String detail) {
    return problem(HttpStatus.FORBIDDEN, detail, null);
  }

  public static ErrorResponseException notFound(String detail) {
    return problem(HttpStatus.NOT_FOUND, detail, null);
  }

  public static ErrorResponseException notFound(String what, Object id) {
    return notFound("there is no %s %s".formatted(what, id));
  }

  public static ErrorResponseException unprocessable(String detail) {
    return problem(HttpStatus.UNPROCESSABLE_ENTITY, detail, null);
  }

  public static ErrorResponseException tooLarge(long limit) {
    String detail = "the body is larger than %d bytes".formatted(limit);
    return problem(HttpStatus.PAYLOAD_TOO_LARGE, detail, null);
  }

  /** The service can't do this now; the same request may succeed later. */
  public static ErrorResponseException unavailable(String detail, Throwable cause) {
    return problem(HttpStatus.SERVICE_UNAVAILABLE, detail, cause);
  }

  /** A failure of the service itself. */
  public static ErrorResponseException internal(String detail, Throwable cause) {
    return problem(HttpStatus.INTERNAL_SERVER_ERROR, detail, cause);
  }

  /** Any exception as a problem. An unexpected one is logged, and the caller sees no detail. */
  public static ErrorResponseException of(RuntimeException e) {
    if (e instanceof ErrorResponseException problem) {
      return problem;
    }
    if (e instanceof RestClientResponseException answer) {
      return ofAnswer(answer);
    }
    if (e instanceof RestClientException noAnswer) {
      return ofNoAnswer(noAnswer);
    }
    LOG.error("unexpected", e);
    return internal("this is our fault, and it is logged", e);
  }

  /**
   * Passes on a problem that the next service reports with 4xx; other answers are a bad gateway.
   */
  private static ErrorResponseException ofAnswer(RestClientResponseException answer) {
    if (answer.getStatusCode().is4xxClientError() && isProblem(answer)) {
      ProblemDetail theirs = answer.getResponseBodyAs(ProblemDetail.class);
      return problem(answer.getStatusCode(), theirs.getDetail(), answer);
    }
    String detail = "the next service answered " + answer.getStatusCode().value();
    return problem(HttpStatus.BAD_GATEWAY, detail, answer);
  }

  private static boolean isProblem(RestClientResponseException answer) {
    HttpHeaders headers = answer.getResponseHeaders();
    return headers != null
        && MediaType.APPLICATION_PROBLEM_JSON.isCompatibleWith(headers.getContentType());
  }

  private static ErrorResponseException ofNoAnswer(RestClientException noAnswer) {
    boolean slow =
        noAnswer instanceof ResourceAccessException
            && noAnswer.getCause() instanceof SocketTimeoutException;
    return slow
        ? problem(HttpStatus.GATEWAY_TIMEOUT, "the next service is too slow", noAnswer)
        : problem(HttpStatus.BAD_GATEWAY, "the next service does not answer", noAnswer);
  }

  private static ErrorResponseException problem(
      HttpStatusCode status, String detail, Throwable cause) {
    return new ErrorResponseException(
        status, ProblemDetail.forStatusAndDetail(status, detail), cause);
  }
}
