package io.patternbench.insurance.selfservice;

import com.fasterxml.jackson.databind.JsonNode;
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
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.lang.Nullable;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/insurance-quote-requests")
class QuoteController {
  /** As in the IETF's draft of that name. */
  private static final String KEY = "Idempotency-Key";

  private final QuoteService quotes;
  private final ItemReader reader;

  QuoteController(QuoteService quotes, ItemReader reader) {
    this.quotes = quotes;
    this.reader = reader;
  }

  @PostMapping
  @Operation(summary = "Ask for a quote")
  InsuranceQuoteRequest create(
      @Valid @RequestBody NewInsuranceQuoteRequest asked,
      @RequestHeader(name = KEY, required = false) @Nullable String key,
      @AuthenticationPrincipal Caller caller) {
    return quotes.create(Items.one(asked), caller, key).only();
  }

  @PostMapping("/bundle")
  @Operation(summary = "Ask for quotes")
  ResponseEntity<Bundle<Object>> createBundle(
      @io.swagger.v3.oas.annotations.parameters.RequestBody(
              content =
                  @Content(
                      array =
                          @ArraySchema(
                              schema = @Schema(implementation = NewInsuranceQuoteRequest.class))))
          @RequestBody
          List<JsonNode> asked,
      @RequestHeader(name = KEY, required = false) @Nullable String key,
      @AuthenticationPrincipal Caller caller) {
    return quotes
        .create(reader.bodies(asked, NewInsuranceQuoteRequest.class), caller, key)
        .created(InsuranceQuoteRequest::id)
        .response();
  }

  @GetMapping("/{id:[^,]+}")
  @Operation(summary = "Get a quote request")
  InsuranceQuoteRequest get(@PathVariable String id, @AuthenticationPrincipal Caller caller) {
    return quotes.get(Items.one(id), caller).only();
  }

  @GetMapping("/{ids:.*,.*}")
  @Operation(summary = "Get the quote requests of a list such as a,b")
  ResponseEntity<Bundle<Object>> getBundle(
      @PathVariable String ids, @AuthenticationPrincipal Caller caller) {
    return quotes.get(reader.ids(ids), caller).bundle().response();
  }

  @DeleteMapping("/{id:[^,]+}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  @Operation(summary = "Delete a quote request")
  void delete(@PathVariable String id, @AuthenticationPrincipal Caller caller) {
    quotes.delete(Items.one(id), caller).only();
  }

  @DeleteMapping("/{ids:.*,.*}")
  @Operation(summary = "Delete the quote requests of a list such as a,b")
  ResponseEntity<Bundle<Object>> deleteBundle(
      @PathVariable String ids, @AuthenticationPrincipal Caller caller) {
    return quotes.delete(reader.ids(ids), caller).deleted().response();
  }
}
