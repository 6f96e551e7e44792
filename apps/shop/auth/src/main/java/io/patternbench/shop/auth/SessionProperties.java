package io.patternbench.shop.auth;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * How sessions are signed.
 *
 * @param secret the same in all instances; HMAC with SHA-256 wants 32 bytes (RFC 2104, section 3)
 * @param validFor how long after they began
 */
@Validated
@ConfigurationProperties("shop.session")
record SessionProperties(
    @NotNull @Size(min = 32, message = "SESSION_SECRET has to be set to 32 characters or more")
        String secret,
    @NotNull Duration validFor) {
  static final String ALGORITHM = "HmacSHA256";

  SecretKeySpec key() {
    return new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM);
  }
}
