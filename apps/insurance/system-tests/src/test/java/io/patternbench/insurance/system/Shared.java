package io.patternbench.insurance.system;

import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Gives all test classes the same insurance, started for the first and ended after the last. */
abstract class Shared implements ParameterResolver {
  private final Supplier<Insurance> start;

  private Shared(Supplier<Insurance> start) {
    this.start = start;
  }

  /** Quote requests go by RabbitMQ. */
  static final class WithMessages extends Shared {
    WithMessages() {
      super(Insurance::withMessages);
    }
  }

  /** Quote requests go by HTTP. */
  static final class WithHttp extends Shared {
    WithHttp() {
      super(Insurance::withHttp);
    }
  }

  private record Running(Insurance insurance) implements CloseableResource {
    @Override
    public void close() {
      insurance.close();
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Insurance.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context
        .getRoot()
        .getStore(ExtensionContext.Namespace.create(getClass()))
        .getOrComputeIfAbsent("insurance", key -> new Running(start.get()), Running.class)
        .insurance();
  }
}
