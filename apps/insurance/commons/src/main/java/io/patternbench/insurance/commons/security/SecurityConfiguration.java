package io.patternbench.insurance.commons.security;

import jakarta.servlet.DispatcherType;
import java.time.Clock;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.annotation.web.configurers.AuthorizeHttpRequestsConfigurer;
import org.springframework.security.config.annotation.web.configurers.oauth2.server.resource.OAuth2ResourceServerConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.util.matcher.RequestMatcher;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** Lets in requests with a token that this insurance has signed. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(TokenProperties.class)
public class SecurityConfiguration {
  @Bean
  Tokens tokens(TokenProperties properties, Clock clock) {
    return new Tokens(properties, clock);
  }

  @Bean
  JwtDecoder jwtDecoder(Tokens tokens) {
    return tokens.decoder();
  }

  @Bean
  SecurityFilterChain securityFilterChain(
      HttpSecurity http,
      AccessRules rules,
      Environment environment,
      @Qualifier("handlerExceptionResolver") HandlerExceptionResolver problems)
      throws Exception {
    return http.csrf(AbstractHttpConfigurer::disable) // tokens come in a header, not in a cookie
        .requestCache(AbstractHttpConfigurer::disable)
        .logout(AbstractHttpConfigurer::disable)
        .sessionManagement(s -> s.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
        .authorizeHttpRequests(
            requests -> {
              requests.requestMatchers(administration(environment)).permitAll();
              authorize(requests, rules);
            })
        .oauth2ResourceServer(server -> checkTokens(server, problems))
        .build();
  }

  /** The actuator's own port, where it has one, is the operator's: no token there. */
  private static RequestMatcher administration(Environment environment) {
    return request -> {
      Integer own = environment.getProperty("local.management.port", Integer.class);
      Integer service = environment.getProperty("local.server.port", Integer.class);
      return own != null && !own.equals(service) && own == request.getLocalPort();
    };
  }

  private static void authorize(
      AuthorizeHttpRequestsConfigurer<HttpSecurity>.AuthorizationManagerRequestMatcherRegistry
          requests,
      AccessRules rules) {
    requests.dispatcherTypeMatchers(DispatcherType.ERROR).permitAll();
    requests.requestMatchers("/actuator/health/**", "/v3/api-docs/**").permitAll();
    requests.requestMatchers(HttpMethod.POST, "/auth").permitAll();
    requests.requestMatchers("/actuator/**").hasRole(Role.EMPLOYEE.claim());
    rules.apply(requests);
  }

  private static void checkTokens(
      OAuth2ResourceServerConfigurer<HttpSecurity> server, HandlerExceptionResolver problems) {
    server.jwt(jwt -> jwt.jwtAuthenticationConverter(CallerAuthentication::new));
    server.authenticationEntryPoint((q, a, e) -> problems.resolveException(q, a, null, e));
    server.accessDeniedHandler((q, a, e) -> problems.resolveException(q, a, null, e));
  }
}
