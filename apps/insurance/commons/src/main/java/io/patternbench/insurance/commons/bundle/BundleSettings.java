package io.patternbench.insurance.commons.bundle;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.lang.Nullable;

/**
 * How deep bundles go in this process; read and changed at {@code /actuator/bundle}, while it runs.
 *
 * <p>A request asks for the depth once, so a change never falls into the middle of a bundle.
 */
@Endpoint(id = "bundle")
public class BundleSettings {
  private volatile BundleDepth depth;

  public BundleSettings(BundleDepth depth) {
    this.depth = depth;
  }

  @ReadOperation
  public BundleDepth depth() {
    return depth;
  }

  /** Changes the settings that are given; the others stay. */
  @WriteOperation
  public synchronized BundleDepth change(
      @Nullable BundleReads reads, @Nullable BundleForward forward) {
    depth =
        new BundleDepth(
            changed("reads", depth.reads(), reads), changed("forward", depth.forward(), forward));
    return depth;
  }

  private static <E> E changed(String name, E now, E wanted) {
    if (wanted != null && now == null) {
      String reason = "this service has no setting \"" + name + "\": there it has no effect";
      throw new InvalidEndpointRequestException(reason, reason);
    }
    return wanted == null ? now : wanted;
  }
}
