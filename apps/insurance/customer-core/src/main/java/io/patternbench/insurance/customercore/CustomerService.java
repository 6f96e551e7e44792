package io.patternbench.insurance.customercore;

import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.bundle.Items.Found;
import io.patternbench.insurance.commons.security.Caller;
import java.util.function.Function;
import org.springframework.stereotype.Service;

/** What can be done with customers. */
@Service
class CustomerService {
  private final CustomerRepository customers;
  private final BundleSettings settings;

  CustomerService(CustomerRepository customers, BundleSettings settings) {
    this.customers = customers;
    this.settings = settings;
  }

  Items<Customer> get(Items<String> ids, Caller caller) {
    return found(ids.check(caller::mustOwn), Function.identity(), settings.depth().reads())
        .each(Found::found);
  }

  /** Reads each customer and saves him with his new address: two calls of the database. */
  Items<Customer> move(Items<AddressChange> changes, Caller caller) {
    BundleReads reads = settings.depth().reads();
    Items<AddressChange> allowed = changes.check(change -> caller.mustOwn(change.customerId()));
    return found(allowed, AddressChange::customerId, reads)
        .each(found -> found.found().movedTo(found.asked().address()))
        .inPortions(reads, customers::saveAddresses);
  }

  private <T> Items<Found<T, Customer>> found(
      Items<T> items, Function<T, String> id, BundleReads reads) {
    return items.find(
        reads, id, customers::find, missing -> Problems.notFound("customer", missing));
  }
}
