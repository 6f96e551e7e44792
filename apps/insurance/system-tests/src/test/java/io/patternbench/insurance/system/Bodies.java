package io.patternbench.insurance.system;

import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What requests send. */
final class Bodies {
  static final String ADDRESS =
      "{\"streetAddress\": \"Bahnhofplatz 8\", \"postalCode\": \"8640\", \"city\": \"Rapperswil\"}";

  static final String QUOTE =
      """
      {"customerInfo": {"customerId": "c000000001", "firstname": "Alan", "lastname": "Baumann",
                        "contactAddress": %s, "billingAddress": %s},
       "insuranceOptions": {"startDate": "2026-02-01", "insuranceType": "Home Insurance",
                            "deductible": {"amount": 500, "currency": "CHF"}}}
      """
          .formatted(ADDRESS, ADDRESS);

  static final String POLICY =
      """
      {"customerId": "c000000001",
       "policyPeriod": {"startDate": "2026-02-01", "endDate": "2027-01-31"},
       "policyType": "Home Insurance",
       "deductible": {"amount": 500, "currency": "CHF"},
       "policyLimit": {"amount": 100000, "currency": "CHF"},
       "insurancePremium": {"amount": 320, "currency": "CHF"},
       "insuringAgreement": {"agreementItems": [{"title": "Fire", "description": ""}]}}
      """;

  private Bodies() {}

  static List<String> customers(int size) {
    return IntStream.rangeClosed(1, size).mapToObj("c%09d"::formatted).toList();
  }

  static String repeated(String item, int size) {
    return list(Collections.nCopies(size, item));
  }

  static String addresses(List<String> customers) {
    return list(
        customers.stream()
            .map(id -> "{\"customerId\": \"%s\", \"address\": %s}".formatted(id, ADDRESS))
            .toList());
  }

  static String policies(List<String> ids) {
    return list(
        ids.stream()
            .map(id -> POLICY.replaceFirst("\\{", "{\"policyId\": \"%s\", ".formatted(id)))
            .toList());
  }

  /** As it stands in a path; a list of one ends with a comma. */
  static String list(String path, List<String> ids) {
    return path + String.join(",", ids) + ",";
  }

  private static String list(List<String> items) {
    return items.stream().collect(Collectors.joining(",", "[", "]"));
  }
}
