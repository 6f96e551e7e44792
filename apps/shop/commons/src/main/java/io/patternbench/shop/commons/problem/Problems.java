package io.patternbench.shop.commons.problem;

import java.net.SocketTimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClientResponseException;

/** Everything that can go wrong, as problem details (RFC 9457). */
public final class Problems {
  private static final Logger LOG = LoggerFactory.getLogger(Problems.class);

  private Problems() {}

  public static ErrorResponseException badRequest(String detail) {
    return problem(HttpStatus.BAD_REQUEST, detail, null);
  }

  public static ErrorResponseException unauthorized(String detail) {
    return problem(HttpStatus.UNAUTHORIZED, detail, null);
  }

  public static ErrorResponseException notFound(String what, Object id) {
    return problem(HttpStatus.NOT_FOUND, "there is no %s %s".formatted(what, id), null);
  }

  public static ErrorResponseException tooLarge(long limit) {
    String detail = "the body is larger than %d bytes".formatted(limit);
    return problem(HttpStatus.PAYLOAD_TOO_LARGE, detail, null);
  }

  /** Something that this service needs does not answer now. */
  public static ErrorResponseException unavailable(String detail, Throwable cause) {
    return problem(HttpStatus.SERVICE_UNAVAILABLE, detail, cause);
  }

  /** Any exception as a problem; what nobody foresaw is logged, and the caller sees no detail. */
  static ErrorResponseException of(RuntimeException e) {
    if (e instanceof ErrorResponseException problem) {
      return problem;
    }
    if (e instanceof RestClientResponseException answer) {
      return ofAnswer(answer);
    }
    if (e instanceof ResourceAccessException noAnswer) {
      return ofNoAnswer(noAnswer);
    }
    LOG.error("not foreseen", e);
    return problem(HttpStatus.INTERNAL_SERVER_ERROR, "this is our fault, and it is logged", e);
  }

  /** What the next service refuses, it refuses to our caller; what it fails at is a bad gateway. */
  private static ErrorResponseException ofAnswer(RestClientResponseException answer) {
    int status = answer.getStatusCode().value();
    if (status == HttpStatus.NOT_FOUND.value()) {
      return problem(answer.getStatusCode(), "the next service does not have it", answer);
    }
    return problem(HttpStatus.BAD_GATEWAY, "the next service answered " + status, answer);
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
