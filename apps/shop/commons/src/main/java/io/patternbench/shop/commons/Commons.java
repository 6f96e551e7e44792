package io.patternbench.shop.commons;

import io.patternbench.apps.commons.BodyLimit;
import io.patternbench.apps.commons.ProblemAdvice;
import io.patternbench.shop.commons.web.ConcurrencyLimit;
import java.time.Clock;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.util.unit.DataSize;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** What every service of the shop imports. */
@Configuration(proxyBeanMethods = false)
@Import({ProblemAdvice.class, ConcurrencyLimit.class})
public class Commons {
  @Bean
  Clock clock() {
    return Clock.systemUTC();
  }

  @Bean
  BodyLimit bodyLimit(
      @Value("${shop.body-limit}") DataSize limit,
      @Qualifier("handlerExceptionResolver") HandlerExceptionResolver problems) {
    return new BodyLimit(limit, problems);
  }
}
