package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.Ids;
import io.patternbench.insurance.commons.bundle.BundleDepth;
import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.bundle.Items.Found;
import java.time.Clock;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.springframework.stereotype.Service;
import org.springframework.web.ErrorResponseException;

/** What employees do with policies. */
@Service
class PolicyService {
  private final PolicyRepository policies;
  private final Customers customers;
  private final BundleSettings settings;
  private final Clock clock;
  private final Ids ids;

  PolicyService(
      PolicyRepository policies,
      Customers customers,
      BundleSettings settings,
      Clock clock,
      Ids ids) {
    this.policies = policies;
    this.customers = customers;
    this.settings = settings;
    this.clock = clock;
    this.ids = ids;
  }

  /** Creates policies of customers who exist. */
  Items<Policy> create(Items<PolicyDetails> wanted) {
    BundleDepth depth = settings.depth();
    return withCustomers(wanted, PolicyDetails::customerId, depth.forward())
        .each(found -> Policy.created(ids.next(), clock.instant(), found.asked()))
        .inPortions(depth.reads(), policies::create);
  }

  /** Gets policies; expanded, each with its customer. */
  Items<Policy> get(Items<String> asked, boolean expanded) {
    BundleDepth depth = settings.depth();
    Items<Policy> stored = found(asked, Function.identity(), depth.reads()).each(Found::found);
    return expanded
        ? withCustomers(stored, Policy::customerId, depth.forward())
            .each(found -> found.asked().expandedBy(found.found()))
        : stored;
  }

  /** Reads policies, asks for their customers, and saves them changed. */
  Items<Policy> change(Items<PolicyChange> changes) {
    BundleDepth depth = settings.depth();
    Items<Policy> changed =
        found(changes, PolicyChange::policyId, depth.reads())
            .each(found -> found.found().changedTo(found.asked().details()));
    return withCustomers(changed, Policy::customerId, depth.forward())
        .each(Found::asked)
        .inPortions(depth.reads(), policies::save);
  }

  Items<String> delete(Items<String> asked) {
    return asked
        .inPortions(settings.depth().reads(), this::deleted)
        .check(PolicyService::mustBeDone)
        .each(Deletion::id);
  }

  private record Deletion(String id, boolean done) {}

  /** An id that a bundle names twice is there the first time only. */
  private List<Deletion> deleted(List<String> asked) {
    Set<String> deleted = policies.delete(asked);
    return asked.stream().map(id -> new Deletion(id, deleted.remove(id))).toList();
  }

  private static void mustBeDone(Deletion deletion) {
    if (!deletion.done()) {
      throw missing(deletion.id());
    }
  }

  private <T> Items<Found<T, Policy>> found(
      Items<T> items, Function<T, String> id, BundleReads reads) {
    return items.find(reads, id, policies::find, PolicyService::missing);
  }

  private <T> Items<Found<T, JsonNode>> withCustomers(
      Items<T> items, Function<T, String> customerId, BundleForward forward) {
    return items.find(forward, customerId, customers::find, PolicyService::noCustomer);
  }

  private static ErrorResponseException missing(String id) {
    return Problems.notFound("policy", id);
  }

  private static ErrorResponseException noCustomer(String id) {
    return Problems.unprocessable("there is no customer " + id);
  }
}
