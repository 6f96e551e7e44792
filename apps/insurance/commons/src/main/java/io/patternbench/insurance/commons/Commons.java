package io.patternbench.insurance.commons;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.insurance.commons.bundle.BundleConfiguration;
import io.patternbench.insurance.commons.problem.ProblemAdvice;
import io.patternbench.insurance.commons.security.SecurityConfiguration;
import io.patternbench.insurance.commons.web.BodyLimit;
import java.time.Clock;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What every service of the insurance imports. */
@Configuration(proxyBeanMethods = false)
@Import({
  BundleConfiguration.class,
  SecurityConfiguration.class,
  ProblemAdvice.class,
  BodyLimit.class,
})
public class Commons {
  @Bean
  Clock clock() {
    return Clock.systemUTC();
  }

  @Bean
  Json json(ObjectMapper mapper) {
    return new Json(mapper);
  }

  @Bean
  Ids ids() {
    return Ids.random();
  }
}
