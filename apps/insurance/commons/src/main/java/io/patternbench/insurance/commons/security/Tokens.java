package io.patternbench.insurance.commons.security;

import com.nimbusds.jose.jwk.source.ImmutableSecret;
import java.time.Clock;
import java.time.Instant;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2TokenValidator;
import org.springframework.security.oauth2.jose.jws.MacAlgorithm;
import org.springframework.security.oauth2.jwt.JwsHeader;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimsSet;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtEncoder;
import org.springframework.security.oauth2.jwt.JwtEncoderParameters;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.oauth2.jwt.NimbusJwtEncoder;

/** Signs tokens, and makes what checks them. */
public final class Tokens {
  static final String ROLE = "role";
  private static final String ISSUER = "insurance";

  private final JwtEncoder encoder;
  private final TokenProperties properties;
  private final Clock clock;

  public Tokens(TokenProperties properties, Clock clock) {
    this.encoder = new NimbusJwtEncoder(new ImmutableSecret<>(properties.key()));
    this.properties = properties;
    this.clock = clock;
  }

  /** A signed token for a user who has signed in. */
  public String sign(Caller caller) {
    Instant now = clock.instant();
    JwtClaimsSet claims =
        JwtClaimsSet.builder()
            .issuer(ISSUER)
            .subject(caller.id())
            .claim(ROLE, caller.role().claim())
            .issuedAt(now)
            .expiresAt(now.plus(properties.validFor()))
            .build();
    JwsHeader header = JwsHeader.with(MacAlgorithm.HS256).build();
    return encoder.encode(JwtEncoderParameters.from(header, claims)).getTokenValue();
  }

  /** Checks signature, issuer and time. */
  public JwtDecoder decoder() {
    NimbusJwtDecoder decoder =
        NimbusJwtDecoder.withSecretKey(properties.key()).macAlgorithm(MacAlgorithm.HS256).build();
    JwtTimestampValidator time = new JwtTimestampValidator();
    time.setClock(clock);
    OAuth2TokenValidator<Jwt> issuer = new JwtIssuerValidator(ISSUER);
    decoder.setJwtValidator(new DelegatingOAuth2TokenValidator<>(time, issuer));
    return decoder;
  }
}
