package io.patternbench.failsafe;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.patternbench.kit.Adapter;
import io.patternbench.kit.Rounds;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpressibleTest {
  private static final Adapter ADAPTER = new FailsafeAdapter();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "{'fixed':{'delay_us':1000}} | 'full' | jitter",
        "{'fixed':{'delay_us':500}} | 'none' | backoff.fixed.delay_us",
        "{'linear':{'initial_us':500,'increment_us':0,'max_us':null}} | 0.5"
            + " | backoff.linear.initial_us",
        "{'exponential':{'initial_us':1000,'multiplier':2,'max_us':2500}} | 'none'"
            + " | backoff.exponential.max_us",
      })
  void whatARetryCannotExpressIsRefusedByName(String backoff, String jitter, String path) {
    ObjectNode round = Rounds.retry(3, backoff, jitter);
    assertEquals(List.of("strategy.retry." + path), Rounds.refused(round, ADAPTER));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "half_open_calls | 2 | half_open_calls",
        "minimum_calls | 1 | minimum_calls",
        "failure_rate | 50 | failure_rate",
        "slow_call | {'rate':50,'duration_us':1} | slow_call",
        "window | {'time_us':15000} | window.time_us",
      })
  void whatTheBreakerCannotExpressIsRefusedByName(String field, String json, String path) {
    List<String> refused = Rounds.refused(Rounds.breaker(field, json), ADAPTER);
    assertEquals(List.of("strategy.circuit_breaker." + path), refused);
  }

  @Test
  void aShareThatOnlyAllOfTheCallsReachIsExact() {
    assertEquals(List.of(), Rounds.refused(Rounds.breaker("failure_rate", "51"), ADAPTER));
  }

  @Test
  void aBreakerAroundWhatMayRejectIsRefused() {
    String bulkhead = "{'bulkhead':{'max_concurrent':1,'max_waiting':0,'scope':'client'}}";
    String breaker = Rounds.breaker().at("/strategy").toString().replace('"', '\'');
    ObjectNode within = Rounds.round("{'stack':[" + breaker + "," + bulkhead + "]}");
    assertEquals(List.of("strategy.stack[0].circuit_breaker"), Rounds.refused(within, ADAPTER));
    ObjectNode around = Rounds.round("{'stack':[" + bulkhead + "," + breaker + "]}");
    assertEquals(List.of(), Rounds.refused(around, ADAPTER));
  }
}
