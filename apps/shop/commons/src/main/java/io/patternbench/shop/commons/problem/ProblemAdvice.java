package io.patternbench.shop.commons.problem;

import java.util.stream.Collectors;
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
    return answer(Problems.of(e));
  }

  /** All that is wrong with what was sent, at once. */
  @Override
  protected ResponseEntity<Object> handleMethodArgumentNotValid(
      MethodArgumentNotValidException e,
      HttpHeaders headers,
      HttpStatusCode status,
      WebRequest request) {
    return answer(
        Problems.badRequest(
            e.getFieldErrors().stream()
                .map(error -> error.getField() + " " + error.getDefaultMessage())
                .sorted()
                .collect(Collectors.joining(", "))));
  }

  /** A body that is too large is found to be so while it is read. */
  @Override
  protected ResponseEntity<Object> handleHttpMessageNotReadable(
      HttpMessageNotReadableException e,
      HttpHeaders headers,
      HttpStatusCode status,
      WebRequest request) {
    return e.getMostSpecificCause() instanceof ErrorResponseException tooLarge
        ? answer(tooLarge)
        : super.handleHttpMessageNotReadable(e, headers, status, request);
  }

  private static ResponseEntity<Object> answer(ErrorResponseException problem) {
    return ResponseEntity.status(problem.getStatusCode()).body(problem.getBody());
  }
}
