package io.patternbench.shop.recommender;

import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/** Which algorithm recommends; read and changed at {@code /actuator/algorithm}, while it runs. */
@Component
@Endpoint(id = "algorithm")
class AlgorithmSetting {
  private volatile Algorithm algorithm;

  AlgorithmSetting(@Value("${shop.algorithm}") Algorithm algorithm) {
    this.algorithm = algorithm;
  }

  Algorithm algorithm() {
    return algorithm;
  }

  @ReadOperation
  Map<String, Algorithm> read() {
    return Map.of("algorithm", algorithm);
  }

  @WriteOperation
  Map<String, Algorithm> change(Algorithm algorithm) {
    this.algorithm = algorithm;
    return read();
  }
}
