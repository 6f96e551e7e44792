package io.patternbench.insurance.customermanagement;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.bundle.Bundle;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.media.ArraySchema;
import io.swagger.v3.oas.annotations.media.Content;
import io.swagger.v3.oas.annotations.media.Schema;
import jakarta.validation.Valid;
import java.util.List;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** Passes on to customer-core what employees ask: a bundle is one call, as a single request is. */
@RestController
@RequestMapping("/customers")
class CustomerController {
  private final CustomerCoreClient core;

  CustomerController(CustomerCoreClient core) {
    this.core = core;
  }

  @GetMapping("/{id:[^,]+}")
  @Operation(summary = "Get a customer")
  Customer get(@PathVariable String id) {
    return core.get(id);
  }

  @GetMapping("/{ids:.*,.*}")
  @Operation(summary = "Get the customers of a list such as a,b (a list of one ends with a comma)")
  ResponseEntity<Bundle<JsonNode>> getBundle(@PathVariable String ids) {
    return core.getBundle(ids).response();
  }

  @PutMapping("/{id}/address")
  @Operation(summary = "Change the address of a customer")
  Address move(@PathVariable String id, @Valid @RequestBody Address address) {
    return core.move(id, address);
  }

  @PutMapping("/addresses")
  @Operation(summary = "Change the addresses of customers")
  ResponseEntity<Bundle<JsonNode>> moveBundle(
      @io.swagger.v3.oas.annotations.parameters.RequestBody(
              content =
                  @Content(
                      array = @ArraySchema(schema = @Schema(implementation = AddressChange.class))))
          @RequestBody
          List<JsonNode> changes) {
    return core.moveBundle(changes).response();
  }
}
