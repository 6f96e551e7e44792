package io.patternbench.insurance.policymanagement.quote;

import io.patternbench.insurance.commons.security.Caller;
import io.patternbench.insurance.policymanagement.quote.QuoteMessage.Withdrawal;
import io.swagger.v3.oas.annotations.Operation;
import jakarta.validation.Valid;
import java.util.Arrays;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** Quote requests from the self-service, where they do not come as messages. */
@RestController
@RequestMapping("/insurance-quote-requests")
class QuoteController {
  private final QuoteInbox inbox;

  QuoteController(QuoteInbox inbox) {
    this.inbox = inbox;
  }

  @PutMapping
  @ResponseStatus(HttpStatus.NO_CONTENT)
  @Operation(summary = "Take in quote requests of one customer; again does not matter")
  void submit(
      @RequestBody List<@Valid QuoteRequest> requests, @AuthenticationPrincipal Caller caller) {
    requests.forEach(request -> caller.mustOwn(request.customerId()));
    inbox.submit(requests);
  }

  @DeleteMapping("/{ids}")
  @ResponseStatus(HttpStatus.NO_CONTENT)
  @Operation(summary = "Withdraw quote requests of one customer; again does not matter")
  void withdraw(@PathVariable String ids, @AuthenticationPrincipal Caller caller) {
    inbox.withdraw(
        Arrays.stream(ids.split(",")).map(id -> new Withdrawal(id, caller.id())).toList());
  }

  @GetMapping("/{id}")
  @Operation(summary = "Get a quote request that a customer sent")
  ReceivedQuoteRequest get(@PathVariable String id) {
    return inbox.get(id);
  }
}
