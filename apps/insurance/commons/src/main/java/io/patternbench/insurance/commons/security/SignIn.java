package io.patternbench.insurance.commons.security;

import io.patternbench.apps.commons.Problems;
import java.util.Optional;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.security.crypto.bcrypt.BCryptPasswordEncoder;
import org.springframework.security.crypto.password.PasswordEncoder;

/** Exchanges e-mail address and password for a token; the logins are in the service's database. */
public final class SignIn {
  private final PasswordEncoder passwords = new BCryptPasswordEncoder();

  /**
   * Of nobody's password; checked for unknown addresses, so that they take as long as known ones.
   */
  private final String nobody = passwords.encode("");

  private final JdbcClient database;
  private final Tokens tokens;
  private final Role role;

  public SignIn(JdbcClient database, Tokens tokens, Role role) {
    this.database = database;
    this.tokens = tokens;
    this.role = role;
  }

  /** A token, or 401. */
  public String token(String email, String password) {
    Optional<Login> login = find(email);
    boolean matches = passwords.matches(password, login.map(Login::passwordHash).orElse(nobody));
    return login
        .filter(known -> matches)
        .map(known -> tokens.sign(new Caller(known.ownerId(), role)))
        .orElseThrow(() -> Problems.unauthorized("e-mail address or password is wrong"));
  }

  private Optional<Login> find(String email) {
    return database
        .sql("SELECT owner_id, password_hash FROM logins WHERE email = :email")
        .param("email", email)
        .query(Login.class)
        .optional();
  }
}
