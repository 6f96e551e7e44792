package io.patternbench.insurance.system;

import io.patternbench.apps.testing.NeedsRabbitMq;
import org.junit.jupiter.api.extension.ExtendWith;

@NeedsRabbitMq
@ExtendWith(Shared.WithMessages.class)
class CallCountsOverMessagesTest extends CallCounts {
  CallCountsOverMessagesTest(Insurance insurance) {
    super(insurance);
  }
}
