package io.patternbench.insurance.policymanagement.policy;

import io.patternbench.insurance.commons.Json;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.springframework.jdbc.core.namedparam.MapSqlParameterSource;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.namedparam.SqlParameterSource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of policies. Each method is one call of the database, however many policies. */
@Repository
class PolicyRepository {
  private final JdbcClient database;
  private final NamedParameterJdbcTemplate batches;
  private final Json json;

  PolicyRepository(JdbcClient database, NamedParameterJdbcTemplate batches, Json json) {
    this.database = database;
    this.batches = batches;
    this.json = json;
  }

  /** What stands in the column. */
  private record Content(Instant creationDate, PolicyDetails details) {}

  List<Policy> create(List<Policy> policies) {
    database
        .sql("INSERT INTO policies (id, customer_id, content) VALUES :rows")
        .param("rows", policies.stream().map(this::row).toList())
        .update();
    return policies;
  }

  List<Policy> save(List<Policy> policies) {
    batches.batchUpdate(
        "UPDATE policies SET customer_id = :customerId, content = :content WHERE id = :id",
        policies.stream().map(this::parameters).toArray(SqlParameterSource[]::new));
    return policies;
  }

  /** Those that exist, by id. */
  Map<String, Policy> find(List<String> ids) {
    return database
        .sql("SELECT id, content FROM policies WHERE id IN (:ids)")
        .param("ids", ids)
        .query(this::policy)
        .list()
        .stream()
        .collect(Collectors.toMap(Policy::policyId, Function.identity()));
  }

  /** Deletes policies, and returns the ids of those that there were. */
  Set<String> delete(List<String> ids) {
    return new HashSet<>(
        database
            .sql("DELETE FROM policies WHERE id IN (:ids) RETURNING id")
            .param("ids", ids)
            .query(String.class)
            .list());
  }

  private Object[] row(Policy policy) {
    return new Object[] {policy.policyId(), policy.customerId(), content(policy)};
  }

  private SqlParameterSource parameters(Policy policy) {
    return new MapSqlParameterSource("id", policy.policyId())
        .addValue("customerId", policy.customerId())
        .addValue("content", content(policy));
  }

  private String content(Policy policy) {
    return json.write(new Content(policy.creationDate(), policy.details()));
  }

  private Policy policy(ResultSet row, int number) throws SQLException {
    Content content = json.read(row.getString("content"), Content.class);
    return Policy.created(row.getString("id"), content.creationDate(), content.details());
  }
}
