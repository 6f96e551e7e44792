package io.patternbench.kit;

import java.io.IOException;

/** Starts a client, and says where it listens: what the main method of an adapter calls. */
public final class ClientMain {
  private static final String USAGE =
      """
      usage: java -jar patternbench-client-%s.jar [--port PORT]

      Serves patternbench's client contract on 127.0.0.1 and prints one line of JSON with the
      address once it listens. PORT is 0 to 65535; 0, the default, takes a free one.
      """;

  private ClientMain() {}

  /** Runs until the process is ended from outside. */
  public static void run(Adapter adapter, String[] args) {
    // The JDK's server would hold back small lines of the stream until the last is acknowledged.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    String usage = USAGE.formatted(adapter.description().name());
    if (args.length == 1 && args[0].equals("--help")) {
      System.out.print(usage);
    } else {
      serve(portOf(args, usage), adapter);
    }
  }

  private static void serve(int port, Adapter adapter) {
    try {
      ContractServer server = ContractServer.start(port, adapter);
      WarmUp.against(server.port(), adapter);
      System.out.println("{\"listening\": \"127.0.0.1:" + server.port() + "\"}");
    } catch (InterruptedException e) {
      fail("interrupted before it listened");
    } catch (IOException e) {
      fail("cannot listen on port " + port + ": " + e.getMessage() + "; --port 0 takes a free one");
    }
  }

  private static int portOf(String[] args, String usage) {
    if (args.length == 0) {
      return 0;
    }
    if (args.length != 2 || !args[0].equals("--port") || !args[1].matches("\\d{1,5}")) {
      fail("cannot read \"" + String.join(" ", args) + "\"\n" + usage);
    }
    int port = Integer.parseInt(args[1]);
    if (port > 65535) {
      fail("--port " + port + " is above 65535");
    }
    return port;
  }

  private static void fail(String message) {
    System.err.println("error: " + message);
    System.exit(2);
  }
}
