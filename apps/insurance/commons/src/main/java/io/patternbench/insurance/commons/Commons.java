package io.patternbench.insurance.commons;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.apps.commons.BodyLimit;
import io.patternbench.insurance.commons.bundle.BundleConfiguration;
import io.patternbench.insurance.commons.problem.InsuranceAdvice;
import io.patternbench.insurance.commons.security.SecurityConfiguration;
import java.time.Clock;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.util.unit.DataSize;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** What every service of the insurance imports. */
@Configuration(proxyBeanMethods = false)
@Import({
  BundleConfiguration.class,
  SecurityConfiguration.class,
  InsuranceAdvice.class,
})
public class Commons {
  @Bean
  Clock clock() {
    return Clock.systemUTC();
  }

  @Bean
  BodyLimit bodyLimit(
      @Value("${insurance.body-limit:2MB}") DataSize limit,
      @Qualifier("handlerExceptionResolver") HandlerExceptionResolver problems) {
    return new BodyLimit(limit, problems);
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
