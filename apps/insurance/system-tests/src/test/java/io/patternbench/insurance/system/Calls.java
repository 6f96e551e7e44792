package io.patternbench.insurance.system;

import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.amqp.RabbitTemplateCustomizer;
import org.springframework.boot.web.client.RestClientCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Counts the calls that a service makes: statements that it has the database execute (a batch is
 * one), and HTTP requests and messages that it sends to another service.
 */
final class Calls {
  private final AtomicInteger database = new AtomicInteger();
  private final AtomicInteger distributed = new AtomicInteger();

  /** Calls of one service, or of some together. */
  record Count(int database, int distributed) {
    Count plus(Count other) {
      return new Count(database + other.database, distributed + other.distributed);
    }

    Count minus(Count other) {
      return new Count(database - other.database, distributed - other.distributed);
    }
  }

  Count count() {
    return new Count(database.get(), distributed.get());
  }

  /** Puts the counter into a service. */
  @Configuration(proxyBeanMethods = false)
  static class Counting {
    @Bean
    static Calls calls() {
      return new Calls();
    }

    @Bean
    static BeanPostProcessor countDatabaseCalls(Calls calls) {
      return new BeanPostProcessor() {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
          return bean instanceof DataSource source ? counted(source, calls) : bean;
        }
      };
    }

    private static DataSource counted(DataSource source, Calls calls) {
      return ProxyDataSourceBuilder.create(source)
          .afterQuery((execution, queries) -> calls.database.incrementAndGet())
          .build();
    }

    @Bean
    static RestClientCustomizer countHttpCalls(Calls calls) {
      return builder ->
          builder.requestInterceptor(
              (request, body, execution) -> {
                calls.distributed.incrementAndGet();
                return execution.execute(request, body);
              });
    }

    @Bean
    static RabbitTemplateCustomizer countMessages(Calls calls) {
      return template ->
          template.addBeforePublishPostProcessors(
              message -> {
                calls.distributed.incrementAndGet();
                return message;
              });
    }
  }
}
