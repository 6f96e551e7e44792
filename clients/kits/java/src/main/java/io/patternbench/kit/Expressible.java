package io.patternbench.kit;

import io.patternbench.kit.Adapter.Entry;
import io.patternbench.kit.Round.Policy;
import io.patternbench.kit.Round.Stack;
import io.patternbench.kit.Round.Strategy;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Says what of a round the kit cannot do, then asks the adapter what its library cannot. */
final class Expressible {
  /** Each user is a thread of the platform. */
  static final int MOST_USERS = 10_000;

  private static final Set<String> OWN_HEADERS =
      Set.of("content-length", "transfer-encoding", "connection");

  private Expressible() {}

  static List<Problem> problems(Round round, Adapter adapter) {
    Problems problems = new Problems(adapter.description().library());
    problems.atMost("users", round.users(), MOST_USERS, "every user is a thread of its own");
    round.request().headers().entrySet().forEach(header -> header(header, problems));
    if (declared(round.strategy(), adapter, problems)) {
      policies(round, adapter, problems);
    }
    return problems.all();
  }

  private static void policies(Round round, Adapter adapter, Problems problems) {
    List<Policy> policies = round.strategy().policies();
    for (int i = 0; i < policies.size(); i++) {
      List<Policy> guarded = policies.subList(i + 1, policies.size());
      Entry entry = new Entry(policies.get(i), guarded, round.users());
      adapter.refuse(entry, problems.under(path(round.strategy(), i)));
    }
  }

  private static void header(Map.Entry<String, String> header, Problems problems) {
    if (OWN_HEADERS.contains(header.getKey().toLowerCase(Locale.ROOT))) {
      String path = "request.headers." + header.getKey();
      problems.refuse(path, header.getValue(), "this client sets the header itself", null);
    }
  }

  private static boolean declared(Strategy strategy, Adapter adapter, Problems problems) {
    List<String> strategies = adapter.description().strategies();
    if (strategies.contains(kind(strategy))) {
      return true;
    }
    String allowed = "one of " + String.join(", ", strategies);
    problems.refuse("strategy", kind(strategy), "this client does not have it", allowed);
    return false;
  }

  private static String kind(Strategy strategy) {
    if (strategy instanceof Policy policy) {
      return policy.kind();
    }
    return strategy instanceof Stack ? "stack" : "baseline";
  }

  /** Where a policy stands in a round. */
  private static String path(Strategy strategy, int index) {
    String kind = strategy.policies().get(index).kind();
    return strategy instanceof Stack
        ? "strategy.stack[" + index + "]." + kind + "."
        : "strategy." + kind + ".";
  }
}
