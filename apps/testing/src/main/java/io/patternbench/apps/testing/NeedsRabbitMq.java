package io.patternbench.apps.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIf;

/** Tests with messages are skipped, and said to be, where there is no RabbitMQ. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@EnabledIf(
    value = "io.patternbench.apps.testing.RabbitMqServer#isInstalled",
    disabledReason = "RabbitMQ is not installed: apt-get install rabbitmq-server")
public @interface NeedsRabbitMq {}
