package io.patternbench.shop.commons.web;

import io.patternbench.shop.commons.problem.Problems;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.util.unit.DataSize;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.ContentCachingRequestWrapper;

/** Refuses bodies above a size, whether they say how long they are or not. */
public class BodyLimit extends OncePerRequestFilter {
  private final int limit;

  BodyLimit(@Value("${shop.body-limit}") DataSize limit) {
    this.limit = Math.toIntExact(limit.toBytes());
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getContentLengthLong() > limit) {
      response.sendError(HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE);
    } else if (request.getContentLengthLong() < 0) {
      chain.doFilter(new Counted(request), response);
    } else {
      chain.doFilter(request, response);
    }
  }

  /** A request whose body is counted while it is read. */
  private final class Counted extends ContentCachingRequestWrapper {
    Counted(HttpServletRequest request) {
      super(request, limit);
    }

    @Override
    protected void handleContentOverflow(int most) {
      throw Problems.tooLarge(most);
    }
  }
}
