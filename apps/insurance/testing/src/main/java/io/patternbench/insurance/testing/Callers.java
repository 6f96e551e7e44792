package io.patternbench.insurance.testing;

import io.patternbench.insurance.commons.security.Caller;
import io.patternbench.insurance.commons.security.Role;
import io.patternbench.insurance.commons.security.TokenProperties;
import io.patternbench.insurance.commons.security.Tokens;
import java.time.Clock;
import java.time.Duration;

/** Tokens for tests, signed with the secret of tests. */
public final class Callers {
  private static final Tokens TOKENS =
      new Tokens(
          new TokenProperties("only-for-tests-only-for-tests-only-for-tests", Duration.ofHours(1)),
          Clock.systemUTC());

  private Callers() {}

  /** The header's value for a customer. */
  public static String customer(String id) {
    return bearer(id, Role.CUSTOMER);
  }

  /** The header's value for an employee. */
  public static String employee() {
    return bearer("e000000001", Role.EMPLOYEE);
  }

  private static String bearer(String id, Role role) {
    return "Bearer " + TOKENS.sign(new Caller(id, role));
  }
}
