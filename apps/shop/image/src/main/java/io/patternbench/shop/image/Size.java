package io.patternbench.shop.image;

import io.patternbench.apps.commons.Problems;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Width and height of a picture, in pixels; on the wire {@code 64x64}. */
record Size(int width, int height) {
  static final int LARGEST = 1024;
  private static final Pattern WRITTEN = Pattern.compile("([1-9]\\d{0,3})x([1-9]\\d{0,3})");

  static Size of(String text) {
    Matcher matcher = WRITTEN.matcher(String.valueOf(text));
    if (!matcher.matches()) {
      throw wrong(text);
    }
    Size size = new Size(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
    if (size.width > LARGEST || size.height > LARGEST) {
      throw wrong(text);
    }
    return size;
  }

  private static RuntimeException wrong(String text) {
    return Problems.badRequest(
        "a size is written as 64x64, with 1 to %d pixels each way, not \"%s\""
            .formatted(LARGEST, text));
  }
}
