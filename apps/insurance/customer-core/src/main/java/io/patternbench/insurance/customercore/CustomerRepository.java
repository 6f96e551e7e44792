package io.patternbench.insurance.customercore;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.namedparam.SimplePropertySqlParameterSource;
import org.springframework.jdbc.core.namedparam.SqlParameterSource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The table of customers. Each method is one call of the database, however many customers. */
@Repository
class CustomerRepository {
  private final JdbcClient database;
  private final NamedParameterJdbcTemplate batches;

  CustomerRepository(JdbcClient database, NamedParameterJdbcTemplate batches) {
    this.database = database;
    this.batches = batches;
  }

  /** Those that exist, by id. */
  Map<String, Customer> find(List<String> ids) {
    return database
        .sql("SELECT * FROM customers WHERE customer_id IN (:ids)")
        .param("ids", ids)
        .query(Customer.class)
        .list()
        .stream()
        .collect(Collectors.toMap(Customer::customerId, Function.identity()));
  }

  List<Customer> saveAddresses(List<Customer> customers) {
    batches.batchUpdate(
        """
        UPDATE customers
        SET street_address = :streetAddress, postal_code = :postalCode, city = :city
        WHERE customer_id = :customerId
        """,
        customers.stream()
            .map(SimplePropertySqlParameterSource::new)
            .toArray(SqlParameterSource[]::new));
    return customers;
  }
}
