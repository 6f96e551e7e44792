package io.patternbench.shop.image;

import io.patternbench.apps.commons.Problems;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** Pictures in the sizes that a body asks for: {@code {"7": "64x64"}}. */
@RestController
@RequestMapping("/image")
class ImageController {
  static final int MOST = 100;

  private final Gallery gallery;

  ImageController(Gallery gallery) {
    this.gallery = gallery;
  }

  /** Pictures of products, by their ids. */
  @PostMapping("/getProductImages")
  Map<Long, String> products(@RequestBody Map<Long, String> wanted) {
    return shown("product ", wanted);
  }

  /** Pictures that pages need, by their names. */
  @PostMapping("/getWebImages")
  Map<String, String> web(@RequestBody Map<String, String> wanted) {
    return shown("web ", wanted);
  }

  private <K> Map<K, String> shown(String kind, Map<K, String> wanted) {
    if (wanted.size() > MOST) {
      throw Problems.badRequest(
          "one request asks for at most %d pictures, not %d".formatted(MOST, wanted.size()));
    }
    Map<K, Picture> pictures = new LinkedHashMap<>();
    wanted.forEach((of, size) -> pictures.put(of, new Picture(kind + of, Size.of(size))));
    Map<K, String> shown = new LinkedHashMap<>();
    pictures.forEach((of, picture) -> shown.put(of, gallery.shown(picture)));
    return shown;
  }
}
