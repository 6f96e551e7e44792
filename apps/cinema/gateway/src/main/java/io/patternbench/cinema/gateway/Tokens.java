package io.patternbench.cinema.gateway;

import com.nimbusds.jose.jwk.source.ImmutableSecret;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.security.oauth2.jose.jws.MacAlgorithm;
import org.springframework.security.oauth2.jwt.JwsHeader;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimsSet;
import org.springframework.security.oauth2.jwt.JwtEncoder;
import org.springframework.security.oauth2.jwt.JwtEncoderParameters;
import org.springframework.security.oauth2.jwt.NimbusJwtEncoder;
import org.springframework.security.oauth2.jwt.NimbusReactiveJwtDecoder;
import org.springframework.security.oauth2.jwt.ReactiveJwtDecoder;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Mono;

/**
 * Signs tokens and checks them, with a key that this process alone has, or that gateways with the
 * same secret share. They end with the key and never by time: clocks of machines jump, and a token
 * that ended within a round would fail its calls.
 */
@Component
class Tokens {
  private static final int KEY_BYTES = 32;

  private final JwtEncoder encoder;
  private final ReactiveJwtDecoder decoder;

  /**
   * @param secret of several gateways, each of which then takes the tokens of the others; empty for
   *     a key of this one's own
   */
  Tokens(@Value("${gateway.token-secret}") String secret) {
    SecretKey key = new SecretKeySpec(secret.isEmpty() ? drawn() : digest(secret), "HmacSHA256");
    encoder = new NimbusJwtEncoder(new ImmutableSecret<>(key));
    decoder = NimbusReactiveJwtDecoder.withSecretKey(key).macAlgorithm(MacAlgorithm.HS256).build();
  }

  private static byte[] drawn() {
    byte[] bytes = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  /** A key of the length that the algorithm asks for. */
  private static byte[] digest(String secret) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }

  /** A token for whoever asks: the cinema has no accounts, and what is measured is the check. */
  String signed() {
    JwtClaimsSet claims = JwtClaimsSet.builder().subject("visitor").build();
    JwsHeader header = JwsHeader.with(MacAlgorithm.HS256).build();
    return encoder.encode(JwtEncoderParameters.from(header, claims)).getTokenValue();
  }

  /** Checks the signature; ends with a JwtException for any other token. */
  Mono<Jwt> checked(String token) {
    return decoder.decode(token);
  }
}
