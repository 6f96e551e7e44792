package io.patternbench.shop.persistence;

import io.patternbench.shop.commons.wire.Category;
import io.patternbench.shop.commons.wire.Product;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/** The tables of categories and products. Each method is one call of the database. */
@Repository
class Catalogue {
  private final JdbcClient database;

  Catalogue(JdbcClient database) {
    this.database = database;
  }

  List<Category> categories(Page page) {
    return database
        .sql("SELECT * FROM categories ORDER BY id LIMIT :limit OFFSET :offset")
        .param("limit", page.limit())
        .param("offset", page.offset())
        .query(Category.class)
        .list();
  }

  Optional<Category> category(long id) {
    return database
        .sql("SELECT * FROM categories WHERE id = :id")
        .param("id", id)
        .query(Category.class)
        .optional();
  }

  Optional<Product> product(long id) {
    return database
        .sql("SELECT * FROM products WHERE id = :id")
        .param("id", id)
        .query(Product.class)
        .optional();
  }

  /** Those that exist, by id. */
  Map<Long, Product> products(List<Long> ids) {
    return database
        .sql("SELECT * FROM products WHERE id IN (:ids)")
        .param("ids", ids)
        .query(Product.class)
        .list()
        .stream()
        .collect(Collectors.toMap(Product::id, Function.identity()));
  }

  List<Product> products(Page page) {
    return database
        .sql("SELECT * FROM products ORDER BY id LIMIT :limit OFFSET :offset")
        .param("limit", page.limit())
        .param("offset", page.offset())
        .query(Product.class)
        .list();
  }

  List<Product> productsOf(long category, Page page) {
    return database
        .sql(
            """
            SELECT * FROM products WHERE category_id = :category
            ORDER BY id LIMIT :limit OFFSET :offset
            """)
        .param("category", category)
        .param("limit", page.limit())
        .param("offset", page.offset())
        .query(Product.class)
        .list();
  }

  int countOf(long category) {
    return database
        .sql("SELECT COUNT(*) FROM products WHERE category_id = :category")
        .param("category", category)
        .query(Integer.class)
        .single();
  }
}
