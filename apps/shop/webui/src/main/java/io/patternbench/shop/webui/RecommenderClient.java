package io.patternbench.shop.webui;

import io.patternbench.shop.commons.wire.OrderItem;
import java.util.List;
import org.springframework.lang.Nullable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.service.annotation.PostExchange;

/** What pages ask of the recommender. */
interface RecommenderClient {
  @PostExchange("/recommend")
  List<Long> recommend(
      @Nullable @RequestParam(required = false) Long uid, @RequestBody List<OrderItem> items);
}
