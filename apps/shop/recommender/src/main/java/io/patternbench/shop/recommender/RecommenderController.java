package io.patternbench.shop.recommender;

import io.patternbench.shop.commons.wire.OrderItem;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class RecommenderController {
  private final Trainer trainer;
  private final AlgorithmSetting setting;

  RecommenderController(Trainer trainer, AlgorithmSetting setting) {
    this.trainer = trainer;
    this.setting = setting;
  }

  /** The ids of up to ten products for a cart. */
  @PostMapping("/recommend")
  List<Long> recommend(
      @RequestParam(required = false) Long uid,
      @RequestBody(required = false) List<OrderItem> items) {
    return trainer
        .trained()
        .recommended(setting.algorithm(), uid, items == null ? List.of() : items);
  }

  @GetMapping("/train")
  String train() {
    trainer.train();
    return "trained";
  }
}
