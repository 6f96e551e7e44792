package io.patternbench.overload.heap;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.client.TestRestTemplate;

/** What a request makes, and for how long it holds it. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class HeapTest {
  @Autowired private TestRestTemplate service;
  @Autowired private WorkController work;

  @Test
  void aRequestMakesAllItsObjectsAndWaits() {
    long began = System.nanoTime();
    JsonNode answer = service.getForObject("/work", JsonNode.class);
    assertThat(answer.get("sum").asLong()).isEqualTo(65_535L * 65_536 / 2);
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(Duration.ofMillis(100));
  }

  @Test
  void itsObjectsAreAboutTwoMegabytes() throws InterruptedException {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    work.work();
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isBetween(1_700_000L, 2_200_000L);
  }
}
