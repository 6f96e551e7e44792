package io.patternbench.shop.persistence;

import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.util.List;
import org.springframework.jdbc.core.namedparam.MapSqlParameterSource;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.namedparam.SqlParameterSource;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** The tables of orders and their items. */
@Repository
class Orders {
  /** Orders of the demo data have ids up to this one; those that are placed have later ones. */
  private static final long LAST_OF_DEMO = 1000;

  private final JdbcClient database;
  private final NamedParameterJdbcTemplate batches;
  private final Clock clock;

  Orders(JdbcClient database, NamedParameterJdbcTemplate batches, Clock clock) {
    this.database = database;
    this.batches = batches;
    this.clock = clock;
  }

  List<Order> orders(Page page) {
    return database
        .sql("SELECT * FROM orders ORDER BY id LIMIT :limit OFFSET :offset")
        .param("limit", page.limit())
        .param("offset", page.offset())
        .query(Orders::order)
        .list();
  }

  List<Order> ordersOf(long user) {
    return database
        .sql("SELECT * FROM orders WHERE user_id = :user ORDER BY id DESC")
        .param("user", user)
        .query(Orders::order)
        .list();
  }

  List<OrderItem> items(Page page) {
    return database
        .sql("SELECT * FROM order_items ORDER BY id LIMIT :limit OFFSET :offset")
        .param("limit", page.limit())
        .param("offset", page.offset())
        .query(OrderItem.class)
        .list();
  }

  List<OrderItem> itemsOf(long order) {
    return database
        .sql("SELECT * FROM order_items WHERE order_id = :order ORDER BY id")
        .param("order", order)
        .query(OrderItem.class)
        .list();
  }

  /** Keeps an order with its items, all of it or nothing; returns its id. */
  @Transactional
  public long place(Order order) {
    GeneratedKeyHolder key = new GeneratedKeyHolder();
    database
        .sql(
            """
            INSERT INTO orders
              (user_id, time, total_price_in_cents, address_name, address1, address2,
               credit_card_company, credit_card_number, credit_card_expiry_date)
            VALUES
              (:userId, :time, :total, :name, :address1, :address2, :company, :number, :expires)
            """)
        .paramSource(row(order, LocalDateTime.now(clock)))
        .update(key, "id");
    long id = key.getKey().longValue();
    keepItems(id, order.orderItems() == null ? List.of() : order.orderItems());
    return id;
  }

  private static SqlParameterSource row(Order order, LocalDateTime now) {
    return new MapSqlParameterSource("userId", order.userId())
        .addValue("time", now)
        .addValue("total", order.totalPriceInCents())
        .addValue("name", order.addressName())
        .addValue("address1", order.address1())
        .addValue("address2", order.address2())
        .addValue("company", order.creditCardCompany())
        .addValue("number", order.creditCardNumber())
        .addValue("expires", order.creditCardExpiryDate());
  }

  private void keepItems(long order, List<OrderItem> items) {
    batches.batchUpdate(
        """
        INSERT INTO order_items (product_id, order_id, quantity, unit_price_in_cents)
        VALUES (:product, :order, :quantity, :price)
        """,
        items.stream().map(item -> row(order, item)).toArray(SqlParameterSource[]::new));
  }

  private static SqlParameterSource row(long order, OrderItem item) {
    return new MapSqlParameterSource("order", order)
        .addValue("product", item.productId())
        .addValue("quantity", item.quantity())
        .addValue("price", item.unitPriceInCents());
  }

  /** Removes what was placed, and leaves the demo data as it was; returns how many orders. */
  int forgetPlaced() {
    return database.sql("DELETE FROM orders WHERE id > :last").param("last", LAST_OF_DEMO).update();
  }

  private static Order order(ResultSet row, int number) throws SQLException {
    return new Order(
        row.getLong("id"),
        row.getLong("user_id"),
        row.getObject("time", LocalDateTime.class),
        row.getLong("total_price_in_cents"),
        row.getString("address_name"),
        row.getString("address1"),
        row.getString("address2"),
        row.getString("credit_card_company"),
        row.getString("credit_card_number"),
        row.getString("credit_card_expiry_date"),
        null);
  }
}
