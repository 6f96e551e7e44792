package io.patternbench.insurance.commons.problem;

import io.patternbench.apps.commons.Problems;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.transaction.TransactionException;
import org.springframework.web.ErrorResponseException;

/** The problem of any exception, of a request as of one item in a bundle. */
public final class Failures {
  private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

  private Failures() {}

  public static ErrorResponseException of(RuntimeException e) {
    if (e instanceof AccessDeniedException) {
      return Problems.forbidden("the token does not allow this");
    }
    if (e instanceof DataAccessException || e instanceof TransactionException) {
      LOG.warn("the database failed: {}", e.getMessage());
      return Problems.unavailable("the database does not answer", e);
    }
    return Problems.of(e);
  }
}
