package io.patternbench.apps.commons;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.mock.http.MockHttpInputMessage;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClientException;
import org.springframework.web.client.RestClientResponseException;

class ProblemsTest {
  @Test
  void aProblemOfTheNextServiceIsPassedOn() {
    ErrorResponseException problem = Problems.of(answer(404, MediaType.APPLICATION_PROBLEM_JSON));
    assertThat(problem.getStatusCode()).isEqualTo(HttpStatus.NOT_FOUND);
    assertThat(problem.getBody().getDetail()).isEqualTo("there is no tea 7");
  }

  @Test
  void anyOtherAnswerOfTheNextServiceIsABadGateway() {
    for (RestClientResponseException answer :
        List.of(
            answer(404, MediaType.TEXT_HTML), answer(500, MediaType.APPLICATION_PROBLEM_JSON))) {
      ErrorResponseException problem = Problems.of(answer);
      assertThat(problem.getStatusCode()).isEqualTo(HttpStatus.BAD_GATEWAY);
      assertThat(problem.getBody().getDetail())
          .isEqualTo("the next service answered " + answer.getStatusCode().value());
    }
  }

  @Test
  void aSlowServiceIsAGatewayTimeoutAndOneThatDoesNotAnswerABadGateway() {
    assertThat(statusOf(new ResourceAccessException("slow", new SocketTimeoutException())))
        .isEqualTo(504);
    assertThat(statusOf(new ResourceAccessException("away", new ConnectException())))
        .isEqualTo(502);
    assertThat(statusOf(new RestClientException("no JSON"))).isEqualTo(502);
  }

  @Test
  void anUnexpectedExceptionShowsNoDetail() {
    ProblemDetail body = Problems.of(new IllegalStateException("a secret")).getBody();
    assertThat(body.getStatus()).isEqualTo(500);
    assertThat(body.getDetail()).doesNotContain("secret");
  }

  @Test
  void allWrongFieldsAreReportedAtOnce() {
    ProblemDetail body =
        Problems.invalid(
                List.of(
                    new Problems.Invalid("name", "must not be blank"),
                    new Problems.Invalid("city", "is too long")))
            .getBody();
    assertThat(body.getDetail()).isEqualTo("city is too long, name must not be blank");
    assertThat((List<?>) body.getProperties().get("errors")).hasSize(2);
  }

  @Test
  void aBodyThatTurnsOutToBeTooLargeWhileItIsReadAnswers413() {
    HttpMessageNotReadableException unread =
        new HttpMessageNotReadableException(
            "read", Problems.tooLarge(10), new MockHttpInputMessage(new byte[0]));
    var answer =
        new ProblemAdvice()
            .handleHttpMessageNotReadable(unread, new HttpHeaders(), HttpStatus.BAD_REQUEST, null);
    assertThat(answer.getStatusCode()).isEqualTo(HttpStatus.PAYLOAD_TOO_LARGE);
  }

  @Test
  void aValueOfAnotherTypeIsReportedWithItsPath() {
    var unread =
        catchThrowableOfType(
            JsonMappingException.class,
            () -> new ObjectMapper().readValue("{\"sizes\":[\"x\"]}", Order.class));
    assertThat(Problems.unreadable(unread).getBody().getDetail()).isEqualTo("sizes cannot be read");
  }

  private record Order(Map<String, Integer> sizes) {}

  private static int statusOf(RuntimeException e) {
    return Problems.of(e).getStatusCode().value();
  }

  private static RestClientResponseException answer(int status, MediaType contentType) {
    HttpHeaders headers = new HttpHeaders();
    headers.setContentType(contentType);
    byte[] body = "{\"detail\":\"there is no tea 7\"}".getBytes(UTF_8);
    HttpClientErrorException answer =
        HttpClientErrorException.create(HttpStatusCode.valueOf(status), "", headers, body, UTF_8);
    answer.setBodyConvertFunction(
        type ->
            ProblemDetail.forStatusAndDetail(HttpStatusCode.valueOf(status), "there is no tea 7"));
    return answer;
  }
}
