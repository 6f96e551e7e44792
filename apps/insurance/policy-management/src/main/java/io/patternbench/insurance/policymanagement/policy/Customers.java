package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.apps.commons.Problems;
import io.patternbench.insurance.commons.bundle.Bundle;
import io.patternbench.insurance.commons.bundle.Bundle.Item;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.stereotype.Component;

/** The customers of customer-core. */
@Component
class Customers {
  private final CustomerCoreClient core;

  Customers(CustomerCoreClient core) {
    this.core = core;
  }

  /** Those that exist, by id, in one call. */
  Map<String, JsonNode> find(List<String> ids) {
    String list = ids.stream().distinct().collect(Collectors.joining(",", "", ","));
    Bundle<JsonNode> answer = core.getBundle(list);
    return answer.items().stream()
        .filter(Customers::exists)
        .collect(Collectors.toMap(Item::id, Item::body));
  }

  private static boolean exists(Item<JsonNode> item) {
    return switch (item.status()) {
      case 200 -> true;
      case 404 -> false;
      default -> throw Problems.unavailable("customer-core does not answer", null);
    };
  }
}
