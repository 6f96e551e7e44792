package io.patternbench.shop.commons;

import io.patternbench.shop.commons.problem.ProblemAdvice;
import io.patternbench.shop.commons.web.BodyLimit;
import io.patternbench.shop.commons.web.ConcurrencyLimit;
import java.time.Clock;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What every service of the shop imports. */
@Configuration(proxyBeanMethods = false)
@Import({ProblemAdvice.class, BodyLimit.class, ConcurrencyLimit.class})
public class Commons {
  @Bean
  Clock clock() {
    return Clock.systemUTC();
  }
}
