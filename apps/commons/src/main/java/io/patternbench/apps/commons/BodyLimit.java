package io.patternbench.apps.commons;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.util.unit.DataSize;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.util.ContentCachingRequestWrapper;

/** Refuses bodies above a size with problem details, whether they declare their length or not. */
public class BodyLimit extends OncePerRequestFilter {
  private final int limit;
  private final HandlerExceptionResolver problems;

  public BodyLimit(DataSize limit, HandlerExceptionResolver problems) {
    this.limit = Math.toIntExact(limit.toBytes());
    this.problems = problems;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getContentLengthLong() > limit) {
      problems.resolveException(request, response, null, Problems.tooLarge(limit));
    } else if (request.getContentLengthLong() < 0) {
      chain.doFilter(new CountedBody(request), response);
    } else {
      chain.doFilter(request, response);
    }
  }

  /** A request whose body is counted while it is read. */
  private final class CountedBody extends ContentCachingRequestWrapper {
    CountedBody(HttpServletRequest request) {
      super(request, limit);
    }

    @Override
    protected void handleContentOverflow(int most) {
      throw Problems.tooLarge(most);
    }
  }
}
