package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DataAccessException;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Says so when the database does not answer, or has no connection in time. */
@RestControllerAdvice
@Order(Ordered.HIGHEST_PRECEDENCE)
class DatabaseAdvice {
  private static final Logger LOG = LoggerFactory.getLogger(DatabaseAdvice.class);

  @ExceptionHandler(DataAccessException.class)
  ResponseEntity<ProblemDetail> failed(DataAccessException e) {
    LOG.debug("the database failed: {}", e.getMessage());
    ErrorResponseException problem = Problems.unavailable("the database does not answer", e);
    return ResponseEntity.status(problem.getStatusCode()).body(problem.getBody());
  }
}
