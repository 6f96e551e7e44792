package io.patternbench.shop.persistence;

import io.patternbench.apps.commons.Problems;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.TransactionException;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Says so when the database does not answer, or refuses what it is given. */
@RestControllerAdvice
@Order(Ordered.HIGHEST_PRECEDENCE)
class DatabaseAdvice {
  private static final Logger LOG = LoggerFactory.getLogger(DatabaseAdvice.class);

  @ExceptionHandler(DataIntegrityViolationException.class)
  ResponseEntity<ProblemDetail> refused(DataIntegrityViolationException e) {
    LOG.warn("the database refused: {}", e.getMessage());
    return answer(Problems.badRequest("this names what is not there, or leaves something out"));
  }

  @ExceptionHandler({DataAccessException.class, TransactionException.class})
  ResponseEntity<ProblemDetail> failed(RuntimeException e) {
    LOG.warn("the database failed: {}", e.getMessage());
    return answer(Problems.unavailable("the database does not answer", e));
  }

  private static ResponseEntity<ProblemDetail> answer(ErrorResponseException problem) {
    return ResponseEntity.status(problem.getStatusCode()).body(problem.getBody());
  }
}
