package io.patternbench.shop.commons.web;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Sheds load: while too many requests are in progress, any other is answered 503 at once.
 *
 * <p>The limit is read and changed at {@code /actuator/concurrency}, while the service runs.
 */
@Endpoint(id = "concurrency")
public class ConcurrencyLimit extends OncePerRequestFilter {
  private static final int NONE = 0;
  private static final String REFUSED =
      """
      {"title": "Service Unavailable", "status": 503, "detail": "too many requests are in progress"}
      """;

  private final AtomicInteger inProgress = new AtomicInteger();
  private volatile int limit;

  ConcurrencyLimit(@Value("${shop.concurrency-limit}") int limit) {
    change(limit);
  }

  @ReadOperation
  public Map<String, Integer> read() {
    return Map.of("limit", limit);
  }

  @WriteOperation
  public final Map<String, Integer> change(int limit) {
    if (limit < NONE) {
      String allowed = "limit is %d; allowed: 1 or more, or 0 for none".formatted(limit);
      throw new InvalidEndpointRequestException(allowed, allowed);
    }
    this.limit = limit;
    return read();
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (!enters()) {
      refuse(response);
      return;
    }
    try {
      chain.doFilter(request, response);
    } finally {
      inProgress.decrementAndGet();
    }
  }

  /** Counts a request that may go on; requests without a limit are counted too, as one may come. */
  private boolean enters() {
    int most = limit == NONE ? Integer.MAX_VALUE : limit;
    return inProgress.getAndUpdate(number -> number < most ? number + 1 : number) < most;
  }

  private static void refuse(HttpServletResponse response) throws IOException {
    response.setStatus(HttpServletResponse.SC_SERVICE_UNAVAILABLE);
    response.setHeader(HttpHeaders.RETRY_AFTER, "1");
    response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
    response.getWriter().write(REFUSED);
  }
}
