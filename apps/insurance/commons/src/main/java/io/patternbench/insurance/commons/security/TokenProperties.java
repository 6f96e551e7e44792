package io.patternbench.insurance.commons.security;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How tokens are signed.
 *
 * @param secret the same in all services; HMAC with SHA-256 asks for 32 bytes (RFC 7518, 3.2)
 * @param validFor how long after signing in
 */
@Validated
@ConfigurationProperties("insurance.token")
public record TokenProperties(
    @NotNull @Size(min = 32, message = "TOKEN_SECRET has to be set to 32 characters or more")
        String secret,
    @DefaultValue("12h") Duration validFor) {
  static final String ALGORITHM = "HmacSHA256";

  SecretKey key() {
    return new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM);
  }
}
