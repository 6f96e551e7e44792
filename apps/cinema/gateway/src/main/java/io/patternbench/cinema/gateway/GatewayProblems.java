package io.patternbench.cinema.gateway;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.ConnectException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/** Answers what fails in the gateway, and has no fallback, with problem details (RFC 9457). */
@Component
@Order(-2) // before Spring Boot's own, which is at -1
class GatewayProblems implements WebExceptionHandler {
  private static final Logger LOG = LoggerFactory.getLogger(GatewayProblems.class);

  private final ObjectMapper json;

  GatewayProblems(ObjectMapper json) {
    this.json = json;
  }

  @Override
  public Mono<Void> handle(ServerWebExchange exchange, Throwable failure) {
    ServerHttpResponse response = exchange.getResponse();
    if (response.isCommitted()) {
      return Mono.error(failure);
    }
    ProblemDetail problem = problem(failure);
    response.setRawStatusCode(problem.getStatus());
    if (failure instanceof ErrorResponse known) {
      response.getHeaders().addAll(known.getHeaders());
    }
    response.getHeaders().setContentType(MediaType.APPLICATION_PROBLEM_JSON);
    return response.writeWith(
        Mono.fromCallable(() -> response.bufferFactory().wrap(written(problem))));
  }

  private static ProblemDetail problem(Throwable failure) {
    if (failure instanceof ErrorResponse known) {
      return known.getBody();
    }
    if (failure instanceof ConnectException) {
      return ProblemDetail.forStatusAndDetail(
          HttpStatus.BAD_GATEWAY, "the service does not answer");
    }
    LOG.error("not foreseen", failure);
    return ProblemDetail.forStatusAndDetail(
        HttpStatus.INTERNAL_SERVER_ERROR, "this is our fault, and it is logged");
  }

  private byte[] written(ProblemDetail problem) throws JsonProcessingException {
    return json.writeValueAsBytes(problem);
  }
}
