package io.patternbench.insurance.commons.problem;

import io.patternbench.apps.commons.ProblemAdvice;
import io.patternbench.apps.commons.Problems;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;
import org.springframework.security.core.AuthenticationException;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Adds to the problems of every application those of tokens and of the database. */
@RestControllerAdvice
public class InsuranceAdvice extends ProblemAdvice {
  @ExceptionHandler(AuthenticationException.class)
  ResponseEntity<Object> notSignedIn(AuthenticationException e) {
    HttpHeaders headers = new HttpHeaders();
    headers.set(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
    return answer(
        Problems.unauthorized("sign in at POST /auth, then send Authorization: Bearer TOKEN"),
        headers);
  }

  @Override
  protected ErrorResponseException problemOf(RuntimeException e) {
    return Failures.of(e);
  }
}
