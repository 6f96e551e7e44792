package io.patternbench.apps.commons;

import com.fasterxml.jackson.core.JsonProcessingException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.MethodArgumentNotValidException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/** Answers every failed request with problem details. */
@RestControllerAdvice
public class ProblemAdvice extends ResponseEntityExceptionHandler {
  @ExceptionHandler(RuntimeException.class)
  ResponseEntity<Object> failed(RuntimeException e) {
    return answer(problemOf(e), new HttpHeaders());
  }

  /** The problem of an exception; an application overrides this for exceptions of its own. */
  protected ErrorResponseException problemOf(RuntimeException e) {
    return Problems.of(e);
  }

  @Override
  protected ResponseEntity<Object> handleMethodArgumentNotValid(
      MethodArgumentNotValidException e,
      HttpHeaders headers,
      HttpStatusCode status,
      WebRequest request) {
    return answer(
        Problems.invalid(e.getFieldErrors().stream().map(Problems.Invalid::of).toList()), headers);
  }

  @Override
  protected ResponseEntity<Object> handleHttpMessageNotReadable(
      HttpMessageNotReadableException e,
      HttpHeaders headers,
      HttpStatusCode status,
      WebRequest request) {
    return answer(unreadable(e), headers);
  }

  /** A body of unknown length turns out to be too large only while it is read. */
  private static ErrorResponseException unreadable(HttpMessageNotReadableException e) {
    if (e.getMostSpecificCause() instanceof ErrorResponseException tooLarge) {
      return tooLarge;
    }
    return e.getCause() instanceof JsonProcessingException cause
        ? Problems.unreadable(cause)
        : Problems.badRequest("the request has no body that can be read");
  }

  protected static ResponseEntity<Object> answer(ErrorResponseException e, HttpHeaders headers) {
    return ResponseEntity.status(e.getStatusCode()).headers(headers).body(e.getBody());
  }
}
