package io.patternbench.overload.items;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.apps.commons.BodyLimit;
import io.patternbench.apps.commons.ProblemAdvice;
import java.net.URI;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.util.unit.DataSize;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** Items in a database, with a cache next to it that is asked first. */
@SpringBootApplication
@Import(ProblemAdvice.class)
public class Items {
  public static void main(String[] args) {
    SpringApplication.run(Items.class, args);
  }

  @Bean
  BodyLimit bodyLimit(
      @Value("${items.body-limit}") DataSize limit,
      @Qualifier("handlerExceptionResolver") HandlerExceptionResolver problems) {
    return new BodyLimit(limit, problems);
  }

  @Bean
  Cache cache(
      @Value("${items.cache.url}") String url,
      @Value("${items.cache.connections}") int connections,
      @Value("${items.cache.timeout}") Duration timeout,
      ObjectMapper json) {
    return url.isEmpty() ? Cache.NONE : new RedisCache(URI.create(url), connections, timeout, json);
  }
}
