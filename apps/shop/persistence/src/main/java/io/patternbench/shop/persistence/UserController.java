package io.patternbench.shop.persistence;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.wire.User;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/users")
class UserController {
  private final Users users;

  UserController(Users users) {
    this.users = users;
  }

  @GetMapping("/{id}")
  User user(@PathVariable long id) {
    return users.user(id).orElseThrow(() -> Problems.notFound("user", id));
  }

  @GetMapping("/name/{name}")
  User named(@PathVariable String name) {
    return users.named(name).orElseThrow(() -> Problems.notFound("user", name));
  }
}
