package io.patternbench.apps.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;

/**
 * A database for a service under test, in the variables that the service reads. It has to stand
 * above {@code @SpringBootTest}. All test classes of a module share one server.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(MariaDb.Extension.class)
public @interface MariaDb {
  /** The name of the database. */
  String value();

  /** Starts the server before the first class that wants it, and stops it after the last test. */
  final class Extension implements BeforeAllCallback {
    private static final ExtensionContext.Namespace HERE =
        ExtensionContext.Namespace.create(MariaDb.class);

    private record Shared(MariaDbServer server) implements CloseableResource {
      @Override
      public void close() {
        server.close();
      }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
      MariaDb wanted = context.getRequiredTestClass().getAnnotation(MariaDb.class);
      Shared shared =
          context
              .getRoot()
              .getStore(HERE)
              .getOrComputeIfAbsent("server", k -> new Shared(new MariaDbServer()), Shared.class);
      System.setProperty("DATABASE_URL", shared.server().database(wanted.value()));
      System.setProperty("DATABASE_USER", MariaDbServer.USER);
      System.setProperty("DATABASE_PASSWORD", MariaDbServer.PASSWORD);
    }
  }
}
