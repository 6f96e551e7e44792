package io.patternbench.insurance.commons.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;

class BundleSettingsTest {
  @Test
  void aChangeLeavesTheOtherSettingAsItIs() {
    BundleSettings settings =
        new BundleSettings(new BundleDepth(BundleReads.ONE_BY_ONE, BundleForward.EACH));
    settings.change(BundleReads.BATCHED, null);
    assertThat(settings.depth())
        .isEqualTo(new BundleDepth(BundleReads.BATCHED, BundleForward.EACH));
  }

  @Test
  void aSettingThatWouldHaveNoEffectIsRefused() {
    BundleSettings settings = new BundleSettings(new BundleDepth(BundleReads.BATCHED, null));
    assertThatThrownBy(() -> settings.change(BundleReads.ONE_BY_ONE, BundleForward.ONCE))
        .isInstanceOf(InvalidEndpointRequestException.class)
        .hasMessageContaining("no setting \"forward\"");
    assertThat(settings.depth()).isEqualTo(new BundleDepth(BundleReads.BATCHED, null));
  }
}
