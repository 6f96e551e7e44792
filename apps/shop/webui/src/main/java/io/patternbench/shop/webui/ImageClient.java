package io.patternbench.shop.webui;

import java.util.Map;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.service.annotation.PostExchange;

/** What pages ask of the image service: pictures by size, as texts that a page can hold. */
interface ImageClient {
  @PostExchange("/image/getProductImages")
  Map<Long, String> products(@RequestBody Map<Long, String> wanted);

  @PostExchange("/image/getWebImages")
  Map<String, String> web(@RequestBody Map<String, String> wanted);
}
