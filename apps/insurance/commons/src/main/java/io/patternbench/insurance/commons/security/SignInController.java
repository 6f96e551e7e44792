package io.patternbench.insurance.commons.security;

import io.swagger.v3.oas.annotations.Operation;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Where one signs in; only services that have logins import it. */
@RestController
public class SignInController {
  private final SignIn signIn;

  public SignInController(SignIn signIn) {
    this.signIn = signIn;
  }

  /** BCrypt reads 72 bytes of a password and refuses longer ones. */
  record Credentials(
      @NotNull @Size(max = 200) String email, @NotNull @Size(max = 72) String password) {}

  record Token(String token) {}

  @PostMapping("/auth")
  @Operation(summary = "Exchange e-mail address and password for a token")
  Token signIn(@Valid @RequestBody Credentials credentials) {
    return new Token(signIn.token(credentials.email(), credentials.password()));
  }
}
