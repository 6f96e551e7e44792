package io.patternbench.insurance.commons.web;

import io.patternbench.insurance.commons.problem.Problems;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.util.unit.DataSize;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** Refuses bodies above a size, whether they say how long they are or not. */
public class BodyLimit extends OncePerRequestFilter {
  private final long limit;
  private final HandlerExceptionResolver problems;

  BodyLimit(
      @Value("${insurance.body-limit:2MB}") DataSize limit,
      @Qualifier("handlerExceptionResolver") HandlerExceptionResolver problems) {
    this.limit = limit.toBytes();
    this.problems = problems;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getContentLengthLong() > limit) {
      problems.resolveException(request, response, null, Problems.tooLarge(limit));
    } else if (request.getContentLengthLong() < 0) {
      chain.doFilter(new Counted(request), response);
    } else {
      chain.doFilter(request, response);
    }
  }

  private final class Counted extends HttpServletRequestWrapper {
    Counted(HttpServletRequest request) {
      super(request);
    }

    @Override
    public ServletInputStream getInputStream() throws IOException {
      return new CountedStream(super.getInputStream());
    }
  }

  private final class CountedStream extends ServletInputStream {
    private final ServletInputStream body;
    private long read;

    CountedStream(ServletInputStream body) {
      this.body = body;
    }

    @Override
    public int read() throws IOException {
      int next = body.read();
      count(next < 0 ? 0 : 1);
      return next;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int got = body.read(into, offset, length);
      count(Math.max(got, 0));
      return got;
    }

    private void count(int bytes) {
      read += bytes;
      if (read > limit) {
        throw Problems.tooLarge(limit);
      }
    }

    @Override
    public boolean isFinished() {
      return body.isFinished();
    }

    @Override
    public boolean isReady() {
      return body.isReady();
    }

    @Override
    public void setReadListener(ReadListener listener) {
      body.setReadListener(listener);
    }
  }
}
