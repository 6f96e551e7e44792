package io.patternbench.apps.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A RabbitMQ for a service under test, in the variable that the service reads, and for tests that
 * have a parameter {@link RabbitMqServer}. It has to stand above {@code @SpringBootTest}. All test
 * classes of a module share one server.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@NeedsRabbitMq
@ExtendWith(RabbitMq.Extension.class)
public @interface RabbitMq {
  /** Starts the server before the first class that wants it, and stops it after the last test. */
  final class Extension implements BeforeAllCallback, ParameterResolver {
    private static final ExtensionContext.Namespace HERE =
        ExtensionContext.Namespace.create(RabbitMq.class);

    private record Shared(RabbitMqServer server) implements CloseableResource {
      @Override
      public void close() {
        server.close();
      }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
      System.setProperty("RABBITMQ", server(context).address());
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
      return parameter.getParameter().getType() == RabbitMqServer.class;
    }

    @Override
    public RabbitMqServer resolveParameter(ParameterContext parameter, ExtensionContext context) {
      return server(context);
    }

    private static RabbitMqServer server(ExtensionContext context) {
      return context
          .getRoot()
          .getStore(HERE)
          .getOrComputeIfAbsent("server", k -> new Shared(new RabbitMqServer()), Shared.class)
          .server();
    }
  }
}
