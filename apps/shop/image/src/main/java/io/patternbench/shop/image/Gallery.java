package io.patternbench.shop.image;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import javax.imageio.ImageIO;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;
import org.springframework.util.unit.DataSize;

/** Pictures as texts that a page can hold; the most used ones are kept. */
@Component
class Gallery {
  private final Cache<Picture, String> kept;

  Gallery(@Value("${shop.cache}") DataSize size) {
    kept =
        Caffeine.newBuilder()
            .maximumWeight(size.toBytes())
            .weigher((Picture picture, String text) -> text.length())
            .build();
  }

  /** A picture as {@code data:image/png;base64,...}. */
  String shown(Picture picture) {
    return kept.get(picture, Gallery::drawn);
  }

  private static String drawn(Picture picture) {
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    try {
      ImageIO.write(Painter.paint(picture), "png", png);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return "data:image/png;base64," + Base64.getEncoder().encodeToString(png.toByteArray());
  }
}
