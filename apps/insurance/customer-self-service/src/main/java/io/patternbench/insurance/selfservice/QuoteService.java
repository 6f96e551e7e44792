package io.patternbench.insurance.selfservice;

import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.Ids;
import io.patternbench.insurance.commons.bundle.BundleDepth;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.bundle.Items.Found;
import io.patternbench.insurance.commons.security.Caller;
import java.time.Clock;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.springframework.lang.Nullable;
import org.springframework.stereotype.Service;
import org.springframework.transaction.support.TransactionOperations;
import org.springframework.web.ErrorResponseException;

/** What customers do with their quote requests. */
@Service
class QuoteService {
  private final QuoteRepository quotes;
  private final QuoteChannel channel;
  private final TransactionOperations transactions;
  private final BundleSettings settings;
  private final Clock clock;
  private final Ids ids;

  QuoteService(
      QuoteRepository quotes,
      QuoteChannel channel,
      TransactionOperations transactions,
      BundleSettings settings,
      Clock clock,
      Ids ids) {
    this.quotes = quotes;
    this.channel = channel;
    this.transactions = transactions;
    this.settings = settings;
    this.clock = clock;
    this.ids = ids;
  }

  /**
   * Stores quote requests and sends them to policy-management. A request is stored only if it was
   * sent. The other way round, it may have been sent and not be stored; the caller is then told
   * that it failed, and repeats it under the same key, which gives it the same id.
   *
   * @param key the caller's idempotency key; null for none
   */
  Items<InsuranceQuoteRequest> create(
      Items<NewInsuranceQuoteRequest> asked, Caller caller, @Nullable String key) {
    BundleDepth depth = settings.depth();
    Ids newIds = newIds(caller, key);
    return asked
        .check(request -> caller.mustOwn(request.customerInfo().customerId()))
        .each(request -> InsuranceQuoteRequest.submitted(newIds.next(), clock.instant(), request))
        .inPortions(depth.transactions(), portion -> inTransaction(() -> submit(portion, depth)));
  }

  private Ids newIds(Caller caller, @Nullable String key) {
    if (key == null) {
      return ids;
    }
    AtomicInteger position = new AtomicInteger();
    return () -> Ids.repeatable(caller.id(), key + "/" + position.getAndIncrement());
  }

  private List<InsuranceQuoteRequest> submit(
      List<InsuranceQuoteRequest> requests, BundleDepth depth) {
    List<InsuranceQuoteRequest> stored =
        depth.reads().of(requests).stream().flatMap(p -> quotes.save(p).stream()).toList();
    depth.forward().of(stored).forEach(channel::submit);
    return stored;
  }

  Items<InsuranceQuoteRequest> get(Items<String> asked, Caller caller) {
    BundleReads reads = settings.depth().reads();
    return asked
        .find(reads, Function.identity(), quotes::find, QuoteService::missing)
        .each(Found::found)
        .check(request -> caller.mustOwn(request.customerId()));
  }

  /** Deletes quote requests here, and withdraws them at policy-management. */
  Items<String> delete(Items<String> asked, Caller caller) {
    BundleDepth depth = settings.depth();
    return asked
        .inPortions(
            depth.transactions(), portion -> inTransaction(() -> withdraw(portion, caller, depth)))
        .check(withdrawal -> mustBeDone(withdrawal, caller))
        .each(Withdrawal::id);
  }

  private record Withdrawal(String id, boolean done) {}

  private List<Withdrawal> withdraw(List<String> asked, Caller caller, BundleDepth depth) {
    Set<String> deleted = new HashSet<>();
    depth.reads().of(asked).forEach(portion -> deleted.addAll(quotes.delete(portion, caller.id())));
    List<String> inOrder = asked.stream().distinct().filter(deleted::contains).toList();
    depth.forward().of(inOrder).forEach(portion -> channel.withdraw(caller.id(), portion));
    return asked.stream().map(id -> new Withdrawal(id, deleted.remove(id))).toList();
  }

  /** Only a deletion that did nothing asks why: it costs a call of the database. */
  private void mustBeDone(Withdrawal withdrawal, Caller caller) {
    if (!withdrawal.done()) {
      quotes
          .find(List.of(withdrawal.id()))
          .values()
          .forEach(other -> caller.mustOwn(other.customerId()));
      throw missing(withdrawal.id());
    }
  }

  private static ErrorResponseException missing(String id) {
    return Problems.notFound("insurance quote request", id);
  }

  private <T> List<T> inTransaction(Supplier<List<T>> work) {
    return transactions.execute(status -> work.get());
  }
}
