package io.patternbench.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.Rounds;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpressibleTest {
  private static final Adapter ADAPTER = new Resilience4jAdapter();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'fixed':{'delay_us':1000}} | 'full' | jitter",
        "{'fixed':{'delay_us':1000}} | 'equal' | jitter",
        "{'fixed':{'delay_us':500}} | 'none' | backoff.fixed.delay_us",
        "{'linear':{'initial_us':0,'increment_us':500,'max_us':null}} | 0.5"
            + " | backoff.linear.increment_us",
        "{'exponential':{'initial_us':1000,'multiplier':2,'max_us':2500}} | 'none'"
            + " | backoff.exponential.max_us",
      },
      quoteCharacter = '"')
  void whatRetryCannotExpressIsRefusedByName(String backoff, String jitter, String path) {
    ObjectNode round = Rounds.retry(3, backoff, jitter);
    assertEquals(List.of("strategy.retry." + path), Rounds.refused(round, ADAPTER));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "half_open_calls | 3 | half_open_calls",
        "open_for_us | 1500 | open_for_us",
        "failure_rate | 1e-60 | failure_rate",
        "window | {'time_us':500000} | window.time_us",
        "window | {'time_us':1500000} | window.time_us",
        "window | {'calls':1000001} | window.calls",
      })
  void whatTheBreakerCannotExpressIsRefusedByName(String field, String json, String path) {
    ObjectNode round = Rounds.breaker(field, json);
    assertEquals(List.of("strategy.circuit_breaker." + path), Rounds.refused(round, ADAPTER));
  }

  @Test
  void aRateLimitAndWaitingThatIsBoundedAreRefusedInAStack() {
    String limit = "{'rate_limit':{'calls':1,'per_us':1,'burst':1,'max_wait_us':0,'scope':'user'}}";
    String bulkhead = "{'bulkhead':{'max_concurrent':1,'max_waiting':1,'scope':'client'}}";
    ObjectNode round = Rounds.round("{'stack':[" + limit + "," + bulkhead + "]}").put("users", 9);
    assertEquals(
        List.of("strategy.stack[0].rate_limit", "strategy.stack[1].bulkhead.max_waiting"),
        Rounds.refused(round, ADAPTER));
  }
}
