package io.patternbench.shop.commons.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

class ConcurrencyLimitTest {
  private final ConcurrencyLimit limit = new ConcurrencyLimit(2);

  @Test
  void whatComesAboveTheLimitIsAnswered503AndAllElseGoesOn() throws Exception {
    assertThat(atATime(3)).containsExactly(503, 200, 200);
    assertThat(atATime(2)).containsExactly(200, 200);
  }

  @Test
  void whoIsRefusedLearnsWhyAndWhenToAskAgain() throws Exception {
    limit.change(1);
    MockHttpServletResponse refused = new MockHttpServletResponse();
    ask(new MockHttpServletResponse(), (request, response) -> ask(refused, (q, a) -> {}));
    assertThat(refused.getHeader("Retry-After")).isEqualTo("1");
    assertThat(refused.getContentType()).startsWith("application/problem+json");
    assertThat(refused.getContentAsString()).contains("too many requests are in progress");
  }

  @Test
  void aRequestThatFailsMakesRoom() throws Exception {
    limit.change(1);
    FilterChain failing =
        (request, response) -> {
          throw new IOException("gone");
        };
    assertThatThrownBy(() -> ask(new MockHttpServletResponse(), failing))
        .isInstanceOf(IOException.class);
    assertThat(atATime(1)).containsExactly(200);
  }

  @Test
  void zeroIsNoLimitAndTheLimitChangesWhileRequestsAreInProgress() throws Exception {
    limit.change(0);
    assertThat(atATime(100)).doesNotContain(503);
    MockHttpServletResponse refused = new MockHttpServletResponse();
    FilterChain changing =
        (request, response) -> {
          limit.change(1);
          ask(refused, (q, a) -> {});
        };
    ask(new MockHttpServletResponse(), changing);
    assertThat(refused.getStatus()).isEqualTo(503);
    assertThat(limit.read()).containsEntry("limit", 1);
  }

  @Test
  void aLimitBelowZeroIsRefused() {
    assertThatThrownBy(() -> limit.change(-1))
        .isInstanceOf(InvalidEndpointRequestException.class)
        .hasMessageContaining("limit is -1; allowed: 1 or more, or 0 for none");
    assertThat(limit.read()).containsEntry("limit", 2);
  }

  /** The statuses of requests of which each waits for the next, the innermost first. */
  private List<Integer> atATime(int number) throws IOException, ServletException {
    List<Integer> statuses = new ArrayList<>();
    MockHttpServletResponse answer = new MockHttpServletResponse();
    ask(
        answer,
        (request, response) -> {
          if (number > 1) {
            statuses.addAll(atATime(number - 1));
          }
        });
    statuses.add(answer.getStatus());
    return statuses;
  }

  private void ask(MockHttpServletResponse answer, FilterChain chain)
      throws IOException, ServletException {
    limit.doFilter(new MockHttpServletRequest(), answer, chain);
  }
}
