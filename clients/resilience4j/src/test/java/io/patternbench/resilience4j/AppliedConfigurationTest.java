package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.common.CompositeCustomizer;
import io.github.resilience4j.core.functions.Either;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import io.github.resilience4j.springboot3.bulkhead.autoconfigure.BulkheadProperties;
import io.github.resilience4j.springboot3.circuitbreaker.autoconfigure.CircuitBreakerProperties;
import io.github.resilience4j.springboot3.retry.autoconfigure.RetryProperties;
import io.github.resilience4j.springboot3.timelimiter.autoconfigure.TimeLimiterProperties;
import io.patternbench.kit.Rounds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.http.HttpStatus;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.HttpServerErrorException;

/**
 * What {@code patternbench apply} writes for Resilience4j is read by the library's own binder, and
 * decides the shared vectors as the client does that was measured.
 */
class AppliedConfigurationTest {
  private static final Path GOLDEN = Path.of("../../tests/golden/configurations");
  private static final List<String> FORMS = List.of("spring", "resilience4j");
  private static final String NAME = "service";

  /** The cases that a form says exactly, of those whose name begins so. */
  private static Stream<Arguments> exact(String kind) {
    return FORMS.stream()
        .flatMap(
            form ->
                stream(json(GOLDEN.resolve("exact.json")).get(form))
                    .map(JsonNode::asText)
                    .filter(name -> name.startsWith(kind))
                    .map(name -> Arguments.of(form, name)));
  }

  static Stream<Arguments> backoffs() {
    return exact("backoff-");
  }

  static Stream<Arguments> breakers() {
    return exact("breaker-");
  }

  @Test
  void everyVectorOfABreakerIsAmongTheExactOnes() {
    long vectors = stream(Rounds.vectors("breaker")).count();
    assertEquals(vectors * FORMS.size(), breakers().count());
    assertTrue(backoffs().count() >= 2L * FORMS.size(), "there are delays to check");
  }

  @ParameterizedTest
  @MethodSource("breakers")
  void aBreakerThatIsBoundFromTheFileDecidesAsTheVectorSays(String form, String name)
      throws IOException {
    SetClock clock = new SetClock();
    CircuitBreakerConfig config =
        CircuitBreakerConfig.from(breaker(form, name)).clock(clock).build();
    CircuitBreaker breaker = CircuitBreaker.of(NAME, config);
    int number = 0;
    for (JsonNode step : vector("breaker", name).get("steps")) {
      clock.nowUs = step.get("at_us").asLong();
      boolean admitted = breaker.tryAcquirePermission();
      assertEquals(step.get("admitted").asBoolean(), admitted, name + ", step " + number++);
      if (admitted) {
        long durationUs = step.get("duration_us").asLong();
        clock.nowUs += durationUs;
        end(breaker, durationUs, step.get("success").asBoolean());
      }
    }
  }

  private static void end(CircuitBreaker breaker, long durationUs, boolean success) {
    if (success) {
      breaker.onSuccess(durationUs, TimeUnit.MICROSECONDS);
    } else {
      breaker.onError(durationUs, TimeUnit.MICROSECONDS, failure(503));
    }
  }

  @ParameterizedTest
  @MethodSource("backoffs")
  void theDelaysThatAreBoundFromTheFileAreThoseOfTheVector(String form, String name)
      throws IOException {
    var delays = retry(form, name).getIntervalBiFunction();
    int attempt = 0;
    for (JsonNode due : vector("backoff", name).get("delays_us")) {
      long early = due.asLong() - delays.apply(++attempt, Either.left(failure(503))) * 1000;
      assertTrue(early >= 0 && early < 1000, name + " " + attempt + ": " + early);
    }
  }

  @ParameterizedTest
  @MethodSource("backoffs")
  void aCallIsTriedAgainAsOftenAsTheClientTries(String form, String name) throws IOException {
    RetryConfig config =
        RetryConfig.from(retry(form, name)).intervalFunction(attempt -> 0L).build();
    for (int status : new int[] {404, 503}) {
      int[] made = {0};
      try {
        Retry.of(NAME, config)
            .executeRunnable(
                () -> {
                  made[0]++;
                  throw failure(status);
                });
      } catch (HttpServerErrorException | HttpClientErrorException e) {
        assertEquals(status, e.getStatusCode().value());
      }
      assertEquals(vector("backoff", name).get("delays_us").size() + 1, made[0]);
    }
  }

  @Test
  void aRetryChoosesItsFailuresByTheExceptionsOfSpring() throws IOException {
    RetryConfig config = retry("spring", "stack-retry-in-the-sidecar-s-words");
    assertTrue(config.getExceptionPredicate().test(failure(500)));
    assertFalse(config.getExceptionPredicate().test(failure(404)));
  }

  @Test
  void aRejectionFurtherInIsNotTriedAgain() throws IOException {
    for (String form : FORMS) {
      RetryConfig config = retry(form, "stack-retry-around-a-breaker");
      CircuitBreaker open = CircuitBreaker.ofDefaults(NAME);
      open.transitionToOpenState();
      Throwable rejected =
          io.github.resilience4j.circuitbreaker.CallNotPermittedException
              .createCallNotPermittedException(open);
      assertFalse(config.getExceptionPredicate().test(rejected), form);
    }
  }

  @Test
  void aBulkheadAndATimeLimitAreBoundWithTheirNumbers() throws IOException {
    for (String form : FORMS) {
      BulkheadProperties bulkheads =
          bound(form, "stack-bulkhead-at-which-calls-wait", "bulkhead", BulkheadProperties.class);
      BulkheadConfig bulkhead =
          bulkheads.createBulkheadConfig(
              bulkheads.getInstances().get(NAME), new CompositeCustomizer<>(List.of()), NAME);
      assertEquals(4, bulkhead.getMaxConcurrentCalls());
      assertEquals(Duration.ofMillis(100), bulkhead.getMaxWaitDuration());
      String timed = "stack-time-outs-of-a-call-and-of-each-attempt";
      TimeLimiterProperties limits = bound(form, timed, "timelimiter", TimeLimiterProperties.class);
      assertEquals(Duration.ofSeconds(2), limits.getInstances().get(NAME).getTimeoutDuration());
    }
  }

  @Test
  void theOrderOfTheAspectsIsThatOfTheStack() throws IOException {
    String name = "stack-retry-around-a-breaker";
    int retry = bound("spring", name, "retry", RetryProperties.class).getRetryAspectOrder();
    int breaker =
        bound("spring", name, "circuitbreaker", CircuitBreakerProperties.class)
            .getCircuitBreakerAspectOrder();
    assertTrue(retry < breaker, "the lower number is further out");
  }

  private static RetryConfig retry(String form, String name) throws IOException {
    return bound(form, name, "retry", RetryProperties.class)
        .createRetryConfig(NAME, new CompositeCustomizer<>(List.of()));
  }

  private static CircuitBreakerConfig breaker(String form, String name) throws IOException {
    CircuitBreakerProperties properties =
        bound(form, name, "circuitbreaker", CircuitBreakerProperties.class);
    return properties.createCircuitBreakerConfig(
        NAME, properties.getInstances().get(NAME), new CompositeCustomizer<>(List.of()));
  }

  private static <T> T bound(String form, String name, String part, Class<T> type)
      throws IOException {
    var file = new FileSystemResource(GOLDEN.resolve(form).resolve(name + ".yml"));
    List<PropertySource<?>> sources = new YamlPropertySourceLoader().load(name, file);
    Binder binder = new Binder(ConfigurationPropertySources.from(sources));
    return binder.bindOrCreate("resilience4j." + part, type);
  }

  private static RuntimeException failure(int status) {
    HttpStatus known = HttpStatus.valueOf(status);
    return known.is4xxClientError()
        ? new HttpClientErrorException(known)
        : new HttpServerErrorException(known);
  }

  private static JsonNode vector(String file, String name) {
    return stream(Rounds.vectors(file))
        .filter(vector -> name.equals(file + "-" + slug(vector.get("name").asText())))
        .findFirst()
        .orElseThrow();
  }

  private static String slug(String name) {
    return name.toLowerCase().replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
  }

  private static JsonNode json(Path file) {
    try {
      return new ObjectMapper().readTree(Files.readString(file));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Stream<JsonNode> stream(Iterable<JsonNode> list) {
    return StreamSupport.stream(list.spliterator(), false);
  }
}
