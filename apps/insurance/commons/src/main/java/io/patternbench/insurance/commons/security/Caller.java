package io.patternbench.insurance.commons.security;

import io.patternbench.apps.commons.Problems;
import org.springframework.security.oauth2.jwt.Jwt;

/**
 * Who sent a request.
 *
 * @param id of the customer or employee
 */
public record Caller(String id, Role role) {
  public static Caller of(Jwt token) {
    boolean employee = Role.EMPLOYEE.claim().equals(token.getClaimAsString(Tokens.ROLE));
    return new Caller(token.getSubject(), employee ? Role.EMPLOYEE : Role.CUSTOMER);
  }

  /** Customers see and change what is theirs, employees what is anybody's. */
  public void mustOwn(String customerId) {
    if (role == Role.CUSTOMER && !id.equals(customerId)) {
      throw Problems.forbidden("this belongs to another customer");
    }
  }
}
