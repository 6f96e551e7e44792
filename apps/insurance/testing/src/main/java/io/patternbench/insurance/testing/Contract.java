package io.patternbench.insurance.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.Assertions;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.converter.json.Jackson2ObjectMapperBuilder;
import org.springframework.http.converter.json.MappingJackson2HttpMessageConverter;
import org.springframework.test.json.JsonCompareMode;
import org.springframework.test.web.client.MockRestServiceServer;
import org.springframework.test.web.client.RequestMatcher;
import org.springframework.test.web.client.match.MockRestRequestMatchers;
import org.springframework.test.web.client.response.DefaultResponseCreator;
import org.springframework.test.web.client.response.MockRestResponseCreators;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;
import org.springframework.test.web.servlet.request.MockMvcRequestBuilders;
import org.springframework.test.web.servlet.result.MockMvcResultMatchers;
import org.springframework.web.client.RestClient;

/**
 * What a service asks of another one, and what it reads of the answers: a file of {@code
 * contracts/} that both are tested with.
 *
 * @param messages what goes over the broker, where it does
 */
public record Contract(List<Interaction> interactions, List<Message> messages) {
  /** As the services write JSON. */
  public static final ObjectMapper JSON =
      Jackson2ObjectMapperBuilder.json()
          .featuresToDisable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
          .build();

  /** A request and its answer; {@code customer} is the signed-in one, null for an employee. */
  public record Interaction(
      String description, String customer, Request request, Response response) {
    /** Makes a server expect the request, and give the answer. */
    public void isExpectedBy(MockRestServiceServer server) {
      var expected =
          server
              .expect(MockRestRequestMatchers.requestTo(request.path))
              .andExpect(MockRestRequestMatchers.method(HttpMethod.valueOf(request.method)));
      if (request.body != null) {
        expected.andExpect(body(request.body));
      }
      expected.andRespond(answer());
    }

    private static RequestMatcher body(JsonNode body) {
      return MockRestRequestMatchers.content().json(body.toString(), JsonCompareMode.STRICT);
    }

    private DefaultResponseCreator answer() {
      DefaultResponseCreator answer =
          MockRestResponseCreators.withStatus(HttpStatus.valueOf(response.status));
      return response.body == null
          ? answer
          : answer.contentType(contentType()).body(response.body.toString());
    }

    private MediaType contentType() {
      return response.status < 400
          ? MediaType.APPLICATION_JSON
          : MediaType.APPLICATION_PROBLEM_JSON;
    }

    /** Compares what the consumer made of the answer: it has to have read all that is agreed. */
    public void isReadAs(Object result) {
      Assertions.assertThat(asWritten(result)).isEqualTo(response.body);
    }

    /** Sends the request to the real service, whose answer has to hold all that is agreed. */
    public void isKeptBy(MockMvc service) throws Exception {
      var answer =
          service.perform(asked()).andExpect(MockMvcResultMatchers.status().is(response.status));
      if (response.body != null) {
        answer.andExpect(MockMvcResultMatchers.content().json(response.body.toString()));
      }
    }

    private MockHttpServletRequestBuilder asked() {
      MockHttpServletRequestBuilder asked =
          MockMvcRequestBuilders.request(
              HttpMethod.valueOf(request.method), URI.create(request.path));
      asked.header(
          HttpHeaders.AUTHORIZATION,
          customer == null ? Callers.employee() : Callers.customer(customer));
      return request.body == null
          ? asked
          : asked.contentType(MediaType.APPLICATION_JSON).content(request.body.toString());
    }
  }

  public record Request(String method, String path, JsonNode body) {}

  public record Response(int status, JsonNode body) {}

  public record Message(String description, String queue, JsonNode body) {}

  /** What clients are built with that send JSON as the services do. */
  public static RestClient.Builder clients() {
    return RestClient.builder()
        .messageConverters(
            converters -> converters.add(0, new MappingJackson2HttpMessageConverter(JSON)));
  }

  /** Something as its JSON is read. */
  public static JsonNode asWritten(Object value) {
    try {
      return JSON.readTree(JSON.writeValueAsBytes(value));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The contract of two services. */
  public static Contract of(String consumer, String provider) {
    Path file = Path.of("..", "contracts", consumer + "--" + provider + ".json");
    try {
      return JSON.readValue(file.toFile(), Contract.class);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The interaction of this description. */
  public Interaction interaction(String description) {
    return interactions.stream()
        .filter(i -> i.description().equals(description))
        .findFirst()
        .orElseThrow();
  }

  /** The message of this description. */
  public Message message(String description) {
    return messages.stream()
        .filter(m -> m.description().equals(description))
        .findFirst()
        .orElseThrow();
  }
}
