package io.patternbench.calls;

import io.opentelemetry.javaagent.extension.instrumentation.InstrumentationModule;
import io.opentelemetry.javaagent.extension.instrumentation.TypeInstrumentation;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Tells the OpenTelemetry Java agent what to weave; nothing where no packages are named. */
public final class CallsModule extends InstrumentationModule {
  static final String PACKAGES = "patternbench.calls.packages";

  public CallsModule() {
    super("patternbench-calls");
  }

  @Override
  public List<TypeInstrumentation> typeInstrumentations() {
    String variable = System.getenv(PACKAGES.toUpperCase().replace('.', '_'));
    return List.of(new OwnClasses(packages(System.getProperty(PACKAGES, variable))));
  }

  @Override
  public List<String> getAdditionalHelperClassNames() {
    return List.of(Calls.class.getName());
  }

  /** The names between commas. */
  static List<String> packages(String text) {
    String[] names = Optional.ofNullable(text).orElse("").split(",");
    return Arrays.stream(names).map(String::strip).filter(name -> !name.isEmpty()).toList();
  }
}
