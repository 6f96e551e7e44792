package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.commons.bundle.Bundle;
import io.patternbench.insurance.commons.bundle.ItemReader;
import io.patternbench.insurance.commons.bundle.Items;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.media.ArraySchema;
import io.swagger.v3.oas.annotations.media.Content;
import io.swagger.v3.oas.annotations.media.Schema;
import jakarta.validation.Valid;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/policies")
class PolicyController {
  private final PolicyService policies;
  private final ItemReader reader;

  PolicyController(PolicyService policies, ItemReader reader) {
    this.policies = policies;
    this.reader = reader;
  }

  enum Expand {
    customer
  }

  @PostMapping
  @Operation(summary = "Create a policy")
  Policy create(@Valid @RequestBody PolicyDetails details) {
    return policies.create(Items.one(details)).only();
  }

  @PostMapping("/bundle")
  @Operation(summary = "Create policies")
  ResponseEntity<Bundle<Object>> createBundle(
      @io.swagger.v3.oas.annotations.parameters.RequestBody(
              content =
                  @Content(
                      array = @ArraySchema(schema = @Schema(implementation = PolicyDetails.class))))
          @RequestBody
          List<JsonNode> wanted) {
    return policies
        .create(reader.bodies(wanted, PolicyDetails.class))
        .created(Policy::policyId)
        .response();
  }

  @GetMapping("/{id:[^,]+}")
  @Operation(summary = "Get a policy")
  Policy get(@PathVariable String id, @RequestParam(required = false) Expand expand) {
    return policies.get(Items.one(id), expand != null).only();
  }

  @GetMapping("/{ids:.*,.*}")
  @Operation(summary = "Get the policies of a list such as a,b")
  ResponseEntity<Bundle<Object>> getBundle(
      @PathVariable String ids, @RequestParam(required = false) Expand expand) {
    return policies.get(reader.ids(ids), expand != null).bundle().response();
  }

  @PutMapping("/{id}")
  @Operation(summary = "Change a policy")
  Policy change(@PathVariable String id, @Valid @RequestBody PolicyDetails details) {
    return policies.change(Items.one(new PolicyChange(id, details))).only();
  }

  @PutMapping
  @Operation(summary = "Change policies; each item has a policyId")
  ResponseEntity<Bundle<Object>> changeBundle(
      @io.swagger.v3.oas.annotations.parameters.RequestBody(
              content =
                  @Content(
                      array = @ArraySchema(schema = @Schema(implementation = PolicyDetails.class))))
          @RequestBody
          List<JsonNode> changes) {
    return policies
        .change(
            reader
                .identified(changes, PolicyDetails.class, "policyId")
                .each(change -> new PolicyChange(change.id(), change.body())))
        .bundle()
        .response();
  }

  @DeleteMapping("/{id:[^,]+}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  @Operation(summary = "Delete a policy")
  void delete(@PathVariable String id) {
    policies.delete(Items.one(id)).only();
  }

  @DeleteMapping("/{ids:.*,.*}")
  @Operation(summary = "Delete the policies of a list such as a,b")
  ResponseEntity<Bundle<Object>> deleteBundle(@PathVariable String ids) {
    return policies.delete(reader.ids(ids)).deleted().response();
  }
}
