package io.patternbench.shop.webui;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Bundle;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import io.patternbench.shop.commons.wire.Session;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/**
 * What pages show, from all services.
 *
 * <p>A page without pictures, advice or the certainty of who is signed in is still a page. A page
 * without products isn't.
 */
@Component
class Shop {
  private static final Logger LOG = LoggerFactory.getLogger(Shop.class);
  private static final String ICON = "icon";

  private final PersistenceClient persistence;
  private final AuthClient auth;
  private final RecommenderClient recommender;
  private final ImageClient images;

  Shop(
      PersistenceClient persistence,
      AuthClient auth,
      RecommenderClient recommender,
      ImageClient images) {
    this.persistence = persistence;
    this.auth = auth;
    this.recommender = recommender;
    this.images = images;
  }

  /**
   * The session as auth knows it; what the browser sent, as a visitor's, where that cannot be
   * asked.
   */
  Session known(Session sent) {
    if (sent.uid() == null) {
      return sent;
    }
    Session checked = orElse("auth", () -> auth.isLoggedIn(sent), Session.EMPTY);
    return checked == null ? Session.EMPTY : checked;
  }

  String icon() {
    return orElse("image", () -> images.web(Map.of(ICON, "64x64")), Map.<String, String>of())
        .get(ICON);
  }

  List<Shown> shown(List<Product> products, String size) {
    Map<Long, String> wanted = new LinkedHashMap<>();
    products.forEach(product -> wanted.put(product.id(), size));
    Map<Long, String> pictures =
        wanted.isEmpty()
            ? Map.of()
            : orElse("image", () -> images.products(wanted), Map.<Long, String>of());
    return products.stream().map(p -> new Shown(p, pictures.get(p.id()))).toList();
  }

  /** Recommendations for a cart, or for the product that is shown. */
  List<Shown> advice(Session session, List<OrderItem> items) {
    List<Long> ids =
        orElse("recommender", () -> recommender.recommend(session.uid(), items), List.<Long>of());
    return shown(products(ids), "125x125");
  }

  /** The products of these ids that exist, in one request. */
  List<Product> products(List<Long> ids) {
    if (ids.isEmpty()) {
      return List.of();
    }
    String list = ids.stream().map(String::valueOf).collect(Collectors.joining(","));
    return persistence.products(list).items().stream()
        .map(Bundle.Item::body)
        .filter(Objects::nonNull)
        .toList();
  }

  List<Line> lines(Session session) {
    Map<Long, Product> products =
        products(session.orderItems().stream().map(OrderItem::productId).toList()).stream()
            .collect(Collectors.toMap(Product::id, product -> product));
    return session.orderItems().stream()
        .filter(item -> products.containsKey(item.productId()))
        .map(item -> new Line(products.get(item.productId()), item))
        .toList();
  }

  private static <T> T orElse(String service, Supplier<T> asked, T otherwise) {
    try {
      return asked.get();
    } catch (RestClientException e) {
      LOG.warn("a page is shown without {}: {}", service, e.getMessage());
      return otherwise;
    }
  }
}
