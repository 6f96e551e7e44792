package io.patternbench.cinema.gateway;

import com.nimbusds.jose.jwk.source.ImmutableSecret;
import java.security.SecureRandom;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
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
 * Signs tokens and checks them, with a key that this process alone has. They end with it and never
 * by time: clocks of machines jump, and a token that ended within a round would fail its calls.
 */
@Component
class Tokens {
  private static final int KEY_BYTES = 32;

  private final JwtEncoder encoder;
  private final ReactiveJwtDecoder decoder;

  Tokens() {
    byte[] bytes = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(bytes);
    SecretKey key = new SecretKeySpec(bytes, "HmacSHA256");
    encoder = new NimbusJwtEncoder(new ImmutableSecret<>(key));
    decoder = NimbusReactiveJwtDecoder.withSecretKey(key).macAlgorithm(MacAlgorithm.HS256).build();
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
