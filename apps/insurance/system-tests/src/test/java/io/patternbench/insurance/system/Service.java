package io.patternbench.insurance.system;

import io.patternbench.insurance.commons.bundle.BundleSettings;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** One service, started in this JVM on a free port, as its own settings say. */
final class Service implements AutoCloseable {
  private final ConfigurableApplicationContext context;

  private Service(ConfigurableApplicationContext context) {
    this.context = context;
  }

  /** Starts a service; settings are variables of its environment, as {@code NAME=value}. */
  static Service start(String name, Class<?> application, List<String> settings) {
    List<String> arguments = new ArrayList<>();
    // The services' settings have the same name in all jars, so each learns where its own are.
    arguments.add(
        "--spring.config.location=file:../%s/src/main/resources/,classpath:/config/"
            .formatted(name));
    arguments.add("--PORT=0");
    settings.forEach(setting -> arguments.add("--" + setting));
    return new Service(
        new SpringApplicationBuilder(application, Calls.Counting.class)
            .run(arguments.toArray(String[]::new)));
  }

  String url() {
    return "http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port");
  }

  Calls.Count calls() {
    return context.getBean(Calls.class).count();
  }

  BundleSettings bundles() {
    return context.getBean(BundleSettings.class);
  }

  @Override
  public void close() {
    context.close();
  }
}
