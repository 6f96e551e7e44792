package io.patternbench.insurance.commons.security;

import java.util.List;
import java.util.Map;
import org.springframework.security.core.authority.SimpleGrantedAuthority;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.server.resource.authentication.AbstractOAuth2TokenAuthenticationToken;

/** A caller with a token that was checked; controllers get the {@link Caller} as principal. */
final class CallerAuthentication extends AbstractOAuth2TokenAuthenticationToken<Jwt> {
  private static final long serialVersionUID = 1L;

  CallerAuthentication(Jwt token) {
    this(token, Caller.of(token));
  }

  private CallerAuthentication(Jwt token, Caller caller) {
    super(
        token, caller, token, List.of(new SimpleGrantedAuthority("ROLE_" + caller.role().claim())));
    setAuthenticated(true);
  }

  @Override
  public Map<String, Object> getTokenAttributes() {
    return getToken().getClaims();
  }
}
