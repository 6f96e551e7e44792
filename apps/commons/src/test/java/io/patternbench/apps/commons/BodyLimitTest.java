package io.patternbench.apps.commons;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.util.unit.DataSize;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.servlet.ModelAndView;

class BodyLimitTest {
  private final MockHttpServletResponse response = new MockHttpServletResponse();
  private final MockFilterChain chain = new MockFilterChain();
  private final BodyLimit limit =
      new BodyLimit(
          DataSize.ofBytes(10),
          (request, answer, handler, e) -> {
            answer.setStatus(((ErrorResponseException) e).getStatusCode().value());
            return new ModelAndView();
          });

  @Test
  void aBodyThatSaysItIsTooLongIsNotRead() throws Exception {
    limit.doFilter(request(11, false), response, chain);
    assertThat(response.getStatus()).isEqualTo(413);
    assertThat(chain.getRequest()).isNull();
  }

  @Test
  void aBodyThatDoesNotSayHowLongItIsIsReadToTheLimit() throws Exception {
    limit.doFilter(request(11, true), response, chain);
    assertThatThrownBy(() -> chain.getRequest().getInputStream().readAllBytes())
        .hasMessageContaining("larger than 10 bytes");
  }

  @Test
  void aBodyOfTheLimitIsRead() throws Exception {
    limit.doFilter(request(10, true), response, chain);
    assertThat(chain.getRequest().getInputStream().readAllBytes()).hasSize(10);
  }

  private static MockHttpServletRequest request(int length, boolean chunked) {
    MockHttpServletRequest request =
        new MockHttpServletRequest("PUT", "/") {
          @Override
          public long getContentLengthLong() {
            return chunked ? -1 : length;
          }
        };
    request.setContent(new byte[length]);
    return request;
  }
}
