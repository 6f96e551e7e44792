package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.security.Caller;
import io.swagger.v3.oas.annotations.Operation;
import jakarta.validation.Valid;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** The customer's own data, which customer-core keeps. */
@RestController
@RequestMapping("/customers/{id}")
class CustomerController {
  private final CustomerCoreClient core;

  CustomerController(CustomerCoreClient core) {
    this.core = core;
  }

  @GetMapping
  @Operation(summary = "Get one's own data")
  Customer get(@PathVariable String id, @AuthenticationPrincipal Caller caller) {
    caller.mustOwn(id);
    return core.get(id);
  }

  @PutMapping("/address")
  @Operation(summary = "Change one's own address")
  Address move(
      @PathVariable String id,
      @Valid @RequestBody Address address,
      @AuthenticationPrincipal Caller caller) {
    caller.mustOwn(id);
    return core.move(id, address);
  }
}
