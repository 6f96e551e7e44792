package io.patternbench.apps.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A program that runs along with a test, and ends with it. */
final class LocalProcess implements AutoCloseable {
  private static final Duration ENDS_WITHIN = Duration.ofSeconds(20);
  private static final long LOOKS_EVERY_MS = 50;

  private final Process process;
  private final Path log;
  private final Thread atExit = new Thread(this::end);

  private LocalProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /** Starts a program in a folder; what it says is in {@code NAME.log} there. */
  static LocalProcess start(
      String name, Path folder, List<String> command, Map<String, String> environment) {
    Path log = folder.resolve(name + ".log");
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().putAll(environment);
    builder.redirectErrorStream(true);
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    try {
      LocalProcess started = new LocalProcess(builder.start(), log);
      Runtime.getRuntime().addShutdownHook(started.atExit);
      return started;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Carries a command out to its end. */
  static void run(String name, Path folder, List<String> command, Map<String, String> environment) {
    try (LocalProcess running = start(name, folder, command, environment)) {
      if (running.process.waitFor() != 0) {
        throw running.failed("ended with code " + running.process.exitValue());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Waits until something holds; an exception means not yet. */
  void await(Duration atMost, Callable<Boolean> ready) {
    Instant end = Instant.now().plus(atMost);
    while (!holds(ready)) {
      if (!process.isAlive()) {
        throw failed("ended with code " + process.exitValue());
      }
      if (Instant.now().isAfter(end)) {
        throw failed("was not ready after " + atMost);
      }
      pause();
    }
  }

  private static boolean holds(Callable<Boolean> ready) {
    try {
      return ready.call();
    } catch (Exception notYet) {
      return false;
    }
  }

  private static void pause() {
    try {
      Thread.sleep(LOOKS_EVERY_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private IllegalStateException failed(String how) {
    try {
      List<String> lines = Files.readAllLines(log);
      return new IllegalStateException(
          how
              + ": "
              + String.join(" | ", lines.subList(Math.max(0, lines.size() - 5), lines.size())));
    } catch (IOException e) {
      return new IllegalStateException(how, e);
    }
  }

  /** Asks the program and its children to end, and ends what does not listen. */
  @Override
  public void close() {
    Runtime.getRuntime().removeShutdownHook(atExit);
    end();
  }

  private void end() {
    List<ProcessHandle> all =
        Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
    process.destroy();
    waitForEnd();
    all.forEach(ProcessHandle::destroyForcibly);
  }

  private void waitForEnd() {
    try {
      process.waitFor(ENDS_WITHIN.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Path newFolder(String name) {
    try {
      return Files.createTempDirectory("patternbench-" + name + "-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static void remove(Path folder) {
    try (Stream<Path> inside = Files.walk(folder)) {
      inside.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
