package io.patternbench.cinema.web;

import com.fasterxml.jackson.core.StreamReadConstraints;
import io.patternbench.apps.commons.ProblemAdvice;
import org.springframework.boot.autoconfigure.jackson.Jackson2ObjectMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What every service with controllers imports. */
@Configuration(proxyBeanMethods = false)
@Import(ProblemAdvice.class)
public class Web {
  /** Far above what anybody sends here; a list of ten thousand reservations has three million. */
  private static final long LONGEST_DOCUMENT = 16_000_000;

  private static final StreamReadConstraints CONSTRAINTS =
      StreamReadConstraints.builder().maxDocumentLength(LONGEST_DOCUMENT).build();

  /** A document without end is refused before it fills the memory. */
  @Bean
  Jackson2ObjectMapperBuilderCustomizer longestDocument() {
    return builder ->
        builder.postConfigurer(mapper -> mapper.getFactory().setStreamReadConstraints(CONSTRAINTS));
  }
}
