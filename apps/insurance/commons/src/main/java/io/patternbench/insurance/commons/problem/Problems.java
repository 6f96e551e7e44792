package io.patternbench.insurance.commons.problem;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonMappingException.Reference;
import jakarta.validation.ConstraintViolation;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.transaction.TransactionException;
import org.springframework.validation.FieldError;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClientResponseException;

/** Everything that can go wrong, as problem details (RFC 9457). */
public final class Problems {
  private static final Logger LOG = LoggerFactory.getLogger(Problems.class);

  private Problems() {}

  /** A field whose value is not allowed. */
  public record Invalid(String field, String message) {
    public static Invalid of(ConstraintViolation<?> violation) {
      return new Invalid(violation.getPropertyPath().toString(), violation.getMessage());
    }

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
                .map(e -> e.field() + " " + e.message())
                .sorted()
                .collect(Collectors.joining(", ")));
    problem.getBody().setProperty("errors", errors);
    return problem;
  }

  /** A body that is JSON, and not what was expected. */
  public static ErrorResponseException unreadable(JsonProcessingException cause) {
    String where = cause instanceof JsonMappingException mapping ? path(mapping) : "";
    return badRequest(where.isEmpty() ? "the body is not JSON" : where + " cannot be read");
  }

  private static String path(JsonMappingException cause) {
    return cause.getPath().stream()
        .map(Reference::getFieldName)
        .filter(name -> name != null)
        .collect(Collectors.joining("."));
  }

  public static ErrorResponseException unauthorized(String detail) {
    return problem(HttpStatus.UNAUTHORIZED, detail, null);
  }

  public static ErrorResponseException forbidden(String detail) {
    return problem(HttpStatus.FORBIDDEN, detail, null);
  }

  public static ErrorResponseException notFound(String what, String id) {
    return problem(HttpStatus.NOT_FOUND, "there is no %s %s".formatted(what, id), null);
  }

  public static ErrorResponseException unprocessable(String detail) {
    return problem(HttpStatus.UNPROCESSABLE_ENTITY, detail, null);
  }

  public static ErrorResponseException tooLarge(long limit) {
    String detail = "the body is larger than %d bytes".formatted(limit);
    return problem(HttpStatus.PAYLOAD_TOO_LARGE, detail, null);
  }

  /** Something that this service needs does not answer now. */
  public static ErrorResponseException unavailable(String what, Throwable cause) {
    return problem(HttpStatus.SERVICE_UNAVAILABLE, what + " does not answer", cause);
  }

  /** Any exception as a problem; what nobody foresaw is logged, and the caller sees no detail. */
  public static ErrorResponseException of(RuntimeException e) {
    if (e instanceof ErrorResponseException problem) {
      return problem;
    }
    if (e instanceof RestClientResponseException answer) {
      return ofAnswer(answer);
    }
    if (e instanceof ResourceAccessException noAnswer) {
      return ofNoAnswer(noAnswer);
    }
    if (e instanceof AccessDeniedException) {
      return forbidden("the token does not allow this");
    }
    if (e instanceof DataAccessException || e instanceof TransactionException) {
      LOG.warn("the database failed: {}", e.getMessage());
      return unavailable("the database", e);
    }
    LOG.error("not foreseen", e);
    return problem(HttpStatus.INTERNAL_SERVER_ERROR, "this is our fault, and it is logged", e);
  }

  /** What the next service refuses, it refuses to our caller; what it fails at is a bad gateway. */
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

  private static ErrorResponseException ofNoAnswer(ResourceAccessException noAnswer) {
    return noAnswer.getCause() instanceof SocketTimeoutException
        ? problem(HttpStatus.GATEWAY_TIMEOUT, "the next service is too slow", noAnswer)
        : problem(HttpStatus.BAD_GATEWAY, "the next service does not answer", noAnswer);
  }

  private static ErrorResponseException problem(
      HttpStatusCode status, String detail, Throwable cause) {
    return new ErrorResponseException(
        status, ProblemDetail.forStatusAndDetail(status, detail), cause);
  }
}
