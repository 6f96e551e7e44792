package io.patternbench.insurance.commons.problem;

import com.fasterxml.jackson.core.JsonProcessingException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.security.core.AuthenticationException;
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
    return answer(Problems.of(e), new HttpHeaders());
  }

  @ExceptionHandler(AuthenticationException.class)
  ResponseEntity<Object> notSignedIn(AuthenticationException e) {
    HttpHeaders headers = new HttpHeaders();
    headers.set(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
    return answer(
        Problems.unauthorized("sign in at POST /auth, then send Authorization: Bearer TOKEN"),
        headers);
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
    ErrorResponseException problem =
        e.getCause() instanceof JsonProcessingException cause
            ? Problems.unreadable(cause)
            : Problems.badRequest("the request has no body that can be read");
    return answer(problem, headers);
  }

  private static ResponseEntity<Object> answer(ErrorResponseException e, HttpHeaders headers) {
    return ResponseEntity.status(e.getStatusCode()).headers(headers).body(e.getBody());
  }
}
