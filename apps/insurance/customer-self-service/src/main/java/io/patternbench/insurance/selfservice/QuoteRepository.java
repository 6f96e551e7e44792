package io.patternbench.insurance.selfservice;

import io.patternbench.insurance.commons.Json;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of quote requests. Each method is one call of the database, however many requests. */
@Repository
class QuoteRepository {
  private final JdbcClient database;
  private final Json json;

  QuoteRepository(JdbcClient database, Json json) {
    this.database = database;
    this.json = json;
  }

  /** Saves requests and returns what is stored: of a request that was there already, that one. */
  List<InsuranceQuoteRequest> save(List<InsuranceQuoteRequest> requests) {
    Map<String, InsuranceQuoteRequest> stored =
        byId(
            database
                .sql(
                    """
                    INSERT INTO insurance_quote_requests (id, customer_id, content) VALUES :rows
                    ON DUPLICATE KEY UPDATE id = id
                    RETURNING content
                    """)
                .param("rows", requests.stream().map(this::row).toList())
                .query(this::request)
                .list());
    return requests.stream().map(request -> stored.get(request.id())).toList();
  }

  /** Those that exist, by id. */
  Map<String, InsuranceQuoteRequest> find(List<String> ids) {
    return byId(
        database
            .sql("SELECT content FROM insurance_quote_requests WHERE id IN (:ids)")
            .param("ids", ids)
            .query(this::request)
            .list());
  }

  /** Deletes those that are the customer's, and returns their ids. */
  Set<String> delete(List<String> ids, String customerId) {
    return new HashSet<>(
        database
            .sql(
                """
                DELETE FROM insurance_quote_requests
                WHERE id IN (:ids) AND customer_id = :customerId
                RETURNING id
                """)
            .param("ids", ids)
            .param("customerId", customerId)
            .query(String.class)
            .list());
  }

  private static Map<String, InsuranceQuoteRequest> byId(List<InsuranceQuoteRequest> requests) {
    return requests.stream()
        .collect(Collectors.toMap(InsuranceQuoteRequest::id, Function.identity()));
  }

  private Object[] row(InsuranceQuoteRequest request) {
    return new Object[] {request.id(), request.customerId(), json.write(request)};
  }

  private InsuranceQuoteRequest request(ResultSet row, int number) throws SQLException {
    return json.read(row.getString("content"), InsuranceQuoteRequest.class);
  }
}
