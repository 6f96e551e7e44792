package io.patternbench.insurance.policymanagement.quote;

import io.patternbench.insurance.commons.Json;
import io.patternbench.insurance.policymanagement.quote.QuoteMessage.Withdrawal;
import java.util.List;
import java.util.Optional;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/**
 * The table of received quote requests.
 *
 * <p>Messages may come twice, and a withdrawal before its request. Whatever the order, a row comes
 * to the same: the first content counts, and withdrawn stays withdrawn. Nobody changes the row of
 * another customer.
 */
@Repository
class QuoteRepository {
  private final JdbcClient database;
  private final Json json;

  QuoteRepository(JdbcClient database, Json json) {
    this.database = database;
    this.json = json;
  }

  void save(List<QuoteRequest> requests) {
    database
        .sql(
            """
            INSERT INTO insurance_quote_requests (id, customer_id, content) VALUES :rows
            ON DUPLICATE KEY UPDATE
              content =
                IF(customer_id = VALUES(customer_id), COALESCE(content, VALUES(content)), content)
            """)
        .param("rows", requests.stream().map(this::row).toList())
        .update();
  }

  void withdraw(List<Withdrawal> withdrawals) {
    database
        .sql(
            """
            INSERT INTO insurance_quote_requests (id, customer_id, withdrawn) VALUES :rows
            ON DUPLICATE KEY UPDATE withdrawn = withdrawn OR customer_id = VALUES(customer_id)
            """)
        .param("rows", withdrawals.stream().map(QuoteRepository::row).toList())
        .update();
  }

  Optional<ReceivedQuoteRequest> find(String id) {
    return database
        .sql(
            """
            SELECT content, withdrawn FROM insurance_quote_requests
            WHERE id = :id AND content IS NOT NULL
            """)
        .param("id", id)
        .query(
            (row, number) ->
                new ReceivedQuoteRequest(
                    row.getBoolean("withdrawn"),
                    json.read(row.getString("content"), QuoteRequest.class)))
        .optional();
  }

  private Object[] row(QuoteRequest request) {
    return new Object[] {request.id(), request.customerId(), json.write(request)};
  }

  private static Object[] row(Withdrawal withdrawal) {
    return new Object[] {withdrawal.id(), withdrawal.customerId(), true};
  }
}
