package io.patternbench.overload.heap;

import io.patternbench.apps.commons.ProblemAdvice;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

/** A service whose requests hold memory while they wait, as those of many services do. */
@SpringBootApplication
@Import(ProblemAdvice.class)
public class Heap {
  public static void main(String[] args) {
    SpringApplication.run(Heap.class, args);
  }
}
