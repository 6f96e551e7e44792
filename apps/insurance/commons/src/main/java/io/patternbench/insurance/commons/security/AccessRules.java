package io.patternbench.insurance.commons.security;

import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AuthorizeHttpRequestsConfigurer;

/** Which role a service asks for, path by path; the last rule is for any request. */
@FunctionalInterface
public interface AccessRules {
  void apply(
      AuthorizeHttpRequestsConfigurer<HttpSecurity>.AuthorizationManagerRequestMatcherRegistry
          requests);
}
