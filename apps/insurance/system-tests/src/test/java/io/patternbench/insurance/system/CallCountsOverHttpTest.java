package io.patternbench.insurance.system;

import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Shared.WithHttp.class)
class CallCountsOverHttpTest extends CallCounts {
  CallCountsOverHttpTest(Insurance insurance) {
    super(insurance);
  }
}
