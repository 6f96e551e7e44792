package io.patternbench.overload.items;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** The bound of requests that wait for a connection to the database. */
class GateTest {
  private final Gate gate = new Gate(1);

  @Test
  void beyondConnectionsAndThoseWhoMayWaitARequestEndsWith503AndOthersGoOn() {
    String answer = gate.admit(1, () -> gate.admit(1, () -> "second"));
    assertThat(answer).isEqualTo("second");
    assertThatThrownBy(() -> gate.admit(1, () -> gate.admit(1, () -> gate.admit(1, () -> "third"))))
        .hasMessageContaining("503");
    assertThat(gate.isEmpty()).isTrue();
    assertThat(gate.admit(0, () -> "alone")).isEqualTo("alone");
  }

  @Test
  void withoutABoundAllWait() {
    assertThat(admitted(1000)).isEqualTo("last");
  }

  private String admitted(int deeper) {
    return gate.admit(
        Options.bound(Options.UNBOUNDED), () -> deeper == 0 ? "last" : admitted(deeper - 1));
  }

  @Test
  void aRequestThatFailsLeavesTheWayFree() {
    assertThatThrownBy(
            () ->
                gate.admit(
                    0,
                    () -> {
                      throw new IllegalStateException("broken");
                    }))
        .hasMessage("broken");
    assertThat(gate.isEmpty()).isTrue();
  }
}
