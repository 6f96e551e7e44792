package io.patternbench.insurance.commons.security;

import java.util.Locale;

/** Who may sign in. */
public enum Role {
  CUSTOMER,
  EMPLOYEE;

  /** As it stands in a token. */
  public String claim() {
    return name().toLowerCase(Locale.ROOT);
  }
}
