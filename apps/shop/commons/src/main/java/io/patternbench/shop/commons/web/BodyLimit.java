package io.patternbench.shop.commons.web;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.util.unit.DataSize;
import org.springframework.web.filter.OncePerRequestFilter;

/** Refuses bodies above a size, and those that do not say how long they are. */
public class BodyLimit extends OncePerRequestFilter {
  private final long limit;

  BodyLimit(@Value("${shop.body-limit}") DataSize limit) {
    this.limit = limit.toBytes();
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getContentLengthLong() > limit) {
      response.sendError(HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE);
    } else if (request.getHeader("Transfer-Encoding") != null) {
      response.sendError(HttpServletResponse.SC_LENGTH_REQUIRED);
    } else {
      chain.doFilter(request, response);
    }
  }
}
