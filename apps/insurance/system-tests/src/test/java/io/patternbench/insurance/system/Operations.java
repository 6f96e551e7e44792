package io.patternbench.insurance.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.patternbench.insurance.system.Client.Answer;
import io.patternbench.insurance.testing.Callers;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** The operations of the insurance, each for single items and for a bundle of them. */
final class Operations {
  private final Insurance insurance;
  final Client employee = new Client(Callers.employee());
  final Client customer = new Client(Callers.customer("c000000001"));

  Operations(Insurance insurance) {
    this.insurance = insurance;
  }

  /**
   * One operation.
   *
   * @param given makes the items that it needs, and names them
   * @param single does it to one
   * @param bundle does it to all, in one request
   */
  record Operation(
      Function<Integer, List<String>> given,
      Function<String, Answer> single,
      Function<List<String>, Answer> bundle) {}

  Operation of(String name) {
    return switch (name) {
      case "get customers" -> getCustomers();
      case "update addresses" -> updateAddresses();
      case "create quote requests" -> createQuotes();
      case "get quote requests" -> getQuotes();
      case "delete quote requests" -> deleteQuotes();
      case "create policies" -> createPolicies();
      case "get policies" -> getPolicies("");
      case "get policies, expanded" -> getPolicies("?expand=customer");
      case "update policies" -> updatePolicies();
      case "delete policies" -> deletePolicies();
      default -> throw new IllegalArgumentException(name);
    };
  }

  private Operation getCustomers() {
    String url = insurance.management.url() + "/customers/";
    return new Operation(
        Bodies::customers,
        id -> employee.get(url + id),
        ids -> employee.get(Bodies.list(url, ids)));
  }

  private Operation updateAddresses() {
    String url = insurance.management.url() + "/customers/";
    return new Operation(
        Bodies::customers,
        id -> employee.put(url + id + "/address", Bodies.ADDRESS),
        ids -> employee.put(url + "addresses", Bodies.addresses(ids)));
  }

  private Operation createQuotes() {
    return new Operation(
        Bodies::customers,
        id -> customer.post(quotes(), Bodies.QUOTE),
        ids -> bundleOfQuotes(ids.size()));
  }

  Answer bundleOfQuotes(int size) {
    return customer.post(quotes() + "/bundle", Bodies.repeated(Bodies.QUOTE, size));
  }

  private Operation getQuotes() {
    return new Operation(
        size -> bundleOfQuotes(size).ids(),
        id -> customer.get(quotes() + "/" + id),
        ids -> customer.get(Bodies.list(quotes() + "/", ids)));
  }

  private Operation deleteQuotes() {
    return new Operation(
        size -> bundleOfQuotes(size).ids(),
        id -> customer.delete(quotes() + "/" + id),
        ids -> customer.delete(Bodies.list(quotes() + "/", ids)));
  }

  private Operation createPolicies() {
    return new Operation(
        Bodies::customers,
        id -> employee.post(policies(), Bodies.POLICY),
        ids -> bundleOfPolicies(ids.size()));
  }

  private Answer bundleOfPolicies(int size) {
    return employee.post(policies() + "/bundle", Bodies.repeated(Bodies.POLICY, size));
  }

  private Operation getPolicies(String query) {
    return new Operation(
        size -> bundleOfPolicies(size).ids(),
        id -> employee.get(policies() + "/" + id + query),
        ids -> employee.get(Bodies.list(policies() + "/", ids) + query));
  }

  private Operation updatePolicies() {
    return new Operation(
        size -> bundleOfPolicies(size).ids(),
        id -> employee.put(policies() + "/" + id, Bodies.POLICY),
        ids -> employee.put(policies(), Bodies.policies(ids)));
  }

  private Operation deletePolicies() {
    return new Operation(
        size -> bundleOfPolicies(size).ids(),
        id -> employee.delete(policies() + "/" + id),
        ids -> employee.delete(Bodies.list(policies() + "/", ids)));
  }

  /** Does an operation to items one after the other, and sees that it succeeds. */
  static Consumer<List<String>> singles(Operation operation) {
    return ids ->
        ids.forEach(id -> assertThat(operation.single().apply(id).status()).isBetween(200, 204));
  }

  /** Does an operation to items as a bundle, and sees that each succeeds. */
  static Consumer<List<String>> bundle(Operation operation) {
    return ids -> {
      Answer answer = operation.bundle().apply(ids);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.statuses()).hasSize(ids.size()).allMatch(s -> s == 200 || s == 204);
    };
  }

  private String quotes() {
    return insurance.selfService.url() + "/insurance-quote-requests";
  }

  private String policies() {
    return insurance.policies.url() + "/policies";
  }
}
