package io.patternbench.shop.persistence;

import io.patternbench.apps.commons.Problems;
import io.patternbench.shop.commons.wire.Bundle;
import io.patternbench.shop.commons.wire.Category;
import io.patternbench.shop.commons.wire.Product;
import java.util.List;
import java.util.Map;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class CatalogueController {
  private static final int LARGEST_BUNDLE = 1000;
  private static final String ALL = "-1";

  private final Catalogue catalogue;

  CatalogueController(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  @GetMapping("/categories")
  List<Category> categories(
      @RequestParam(defaultValue = ALL) int start, @RequestParam(defaultValue = ALL) int max) {
    return catalogue.categories(new Page(start, max));
  }

  @GetMapping("/categories/{id}")
  Category category(@PathVariable long id) {
    return catalogue.category(id).orElseThrow(() -> Problems.notFound("category", id));
  }

  @GetMapping("/products/{id}")
  Product product(@PathVariable long id) {
    return catalogue.product(id).orElseThrow(() -> Problems.notFound("product", id));
  }

  /** Products in one request that would otherwise be one each. */
  @GetMapping(path = "/products", params = "ids")
  Bundle<Product> products(@RequestParam List<Long> ids) {
    if (ids.isEmpty() || ids.size() > LARGEST_BUNDLE) {
      throw Problems.badRequest(
          "a bundle has from 1 to %d items, this one has %d".formatted(LARGEST_BUNDLE, ids.size()));
    }
    if (ids.contains(null)) {
      throw Problems.badRequest("between two commas there is no id");
    }
    Map<Long, Product> found = catalogue.products(ids);
    return Bundle.of(ids.stream().map(id -> item(id, found.get(id))).toList());
  }

  private static Bundle.Item<Product> item(long id, Product product) {
    return new Bundle.Item<>(id, product == null ? 404 : 200, product);
  }

  @GetMapping("/products")
  List<Product> products(
      @RequestParam(defaultValue = ALL) int start, @RequestParam(defaultValue = ALL) int max) {
    return catalogue.products(new Page(start, max));
  }

  @GetMapping("/products/count/{category}")
  int count(@PathVariable long category) {
    return catalogue.countOf(category);
  }

  @GetMapping("/products/category/{category}")
  List<Product> productsOf(
      @PathVariable long category,
      @RequestParam(defaultValue = ALL) int start,
      @RequestParam(defaultValue = ALL) int max) {
    return catalogue.productsOf(category, new Page(start, max));
  }
}
