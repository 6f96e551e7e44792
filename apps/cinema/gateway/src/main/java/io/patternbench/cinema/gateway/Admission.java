package io.patternbench.cinema.gateway;

import io.patternbench.cinema.gateway.OptionLevels.Authentication;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.lang.Nullable;
import org.springframework.security.oauth2.jwt.JwtException;
import org.springframework.stereotype.Component;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Lets in who has signed in, where the gateway checks that.
 *
 * <p>Everything is checked but what is named here, so that no spelling of a path leads around it.
 */
@Component
class Admission implements WebFilter {
  private static final String BEARER = "Bearer ";
  private static final String ACTUATOR = "/actuator/"; // only where it has no port of its own

  private final OptionSettings settings;
  private final Tokens tokens;

  Admission(OptionSettings settings, Tokens tokens) {
    this.settings = settings;
    this.tokens = tokens;
  }

  @Override
  public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
    ServerHttpRequest request = exchange.getRequest();
    String path = request.getURI().getRawPath();
    if (path.startsWith(JoinedMovies.PATH)) {
      return Mono.error(refused(HttpStatus.NOT_FOUND, "there is no such path"));
    }
    boolean open = path.equals(SignIn.PATH) || path.equals(Ready.PATH) || path.startsWith(ACTUATOR);
    if (open || settings.levels().authentication() == Authentication.NONE) {
      return chain.filter(exchange);
    }
    return signedIn(request.getHeaders().getFirst(HttpHeaders.AUTHORIZATION))
        .then(Mono.defer(() -> chain.filter(exchange)));
  }

  private Mono<Void> signedIn(@Nullable String authorization) {
    if (authorization == null || !authorization.startsWith(BEARER)) {
      return Mono.error(unauthorized("sign in at " + SignIn.PATH + ", and send its token"));
    }
    return tokens
        .checked(authorization.substring(BEARER.length()))
        .onErrorMap(JwtException.class, e -> unauthorized("the token is not valid"))
        .then();
  }

  private static ErrorResponseException unauthorized(String detail) {
    ErrorResponseException refused = refused(HttpStatus.UNAUTHORIZED, detail);
    refused.getHeaders().set(HttpHeaders.WWW_AUTHENTICATE, BEARER.strip());
    return refused;
  }

  private static ErrorResponseException refused(HttpStatus status, String detail) {
    return new ErrorResponseException(
        status, ProblemDetail.forStatusAndDetail(status, detail), null);
  }
}
