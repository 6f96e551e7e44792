package io.patternbench.cinema.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Clocks of machines differ and jump. Nothing here comes from one, so it makes no difference. */
class WallClockTest {
  private static final Pattern WALL_CLOCK =
      Pattern.compile("currentTimeMillis|\\b(Clock|new Date\\(|\\w+\\.now\\()");

  @Test
  void noServiceReadsAWallClock() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of(".."))) {
      List<Path> sources =
          files.filter(f -> f.toString().matches(".*/src/main/java/.*\\.java")).toList();
      assertThat(sources).hasSizeGreaterThan(30);
      assertThat(sources).noneMatch(file -> WALL_CLOCK.matcher(read(file)).find());
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
