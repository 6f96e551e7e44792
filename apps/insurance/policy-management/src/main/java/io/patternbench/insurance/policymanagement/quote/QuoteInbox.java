package io.patternbench.insurance.policymanagement.quote;

import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.policymanagement.quote.QuoteMessage.Withdrawal;
import java.util.List;
import org.springframework.stereotype.Service;

/** Takes quote requests in, whichever way they come. */
@Service
class QuoteInbox {
  private final QuoteRepository quotes;
  private final BundleSettings settings;

  QuoteInbox(QuoteRepository quotes, BundleSettings settings) {
    this.quotes = quotes;
    this.settings = settings;
  }

  void submit(List<QuoteRequest> requests) {
    settings.depth().reads().of(requests).forEach(quotes::save);
  }

  void withdraw(List<Withdrawal> withdrawals) {
    settings.depth().reads().of(withdrawals).forEach(quotes::withdraw);
  }

  ReceivedQuoteRequest get(String id) {
    return quotes.find(id).orElseThrow(() -> Problems.notFound("insurance quote request", id));
  }
}
