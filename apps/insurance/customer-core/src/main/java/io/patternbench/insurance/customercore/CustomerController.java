package io.patternbench.insurance.customercore;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.Address;
import io.patternbench.insurance.commons.bundle.Bundle;
import io.patternbench.insurance.commons.bundle.ItemReader;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.security.Caller;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.media.ArraySchema;
import io.swagger.v3.oas.annotations.media.Content;
import io.swagger.v3.oas.annotations.media.Schema;
import jakarta.validation.Valid;
import java.util.List;
import org.springframework.http.ResponseEntity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/customers")
class CustomerController {
  private final CustomerService customers;
  private final ItemReader reader;

  CustomerController(CustomerService customers, ItemReader reader) {
    this.customers = customers;
    this.reader = reader;
  }

  @GetMapping("/{id:[^,]+}")
  @Operation(summary = "Get a customer")
  Customer get(@PathVariable String id, @AuthenticationPrincipal Caller caller) {
    return customers.get(Items.one(id), caller).only();
  }

  @GetMapping("/{ids:.*,.*}")
  @Operation(summary = "Get the customers of a list such as a,b (a list of one ends with a comma)")
  ResponseEntity<Bundle<Object>> getBundle(
      @PathVariable String ids, @AuthenticationPrincipal Caller caller) {
    return customers.get(reader.ids(ids), caller).bundle().response();
  }

  @PutMapping("/{id}/address")
  @Operation(summary = "Change the address of a customer")
  Address move(
      @PathVariable String id,
      @Valid @RequestBody Address address,
      @AuthenticationPrincipal Caller caller) {
    return customers.move(Items.one(new AddressChange(id, address)), caller).only().address();
  }

  @PutMapping("/addresses")
  @Operation(summary = "Change the addresses of customers")
  ResponseEntity<Bundle<Object>> moveBundle(
      @io.swagger.v3.oas.annotations.parameters.RequestBody(
              content =
                  @Content(
                      array = @ArraySchema(schema = @Schema(implementation = AddressChange.class))))
          @RequestBody
          List<JsonNode> changes,
      @AuthenticationPrincipal Caller caller) {
    return customers
        .move(
            reader
                .identified(changes, AddressChange.class, "customerId")
                .each(ItemReader.Identified::body),
            caller)
        .each(Customer::address)
        .bundle()
        .response();
  }
}
