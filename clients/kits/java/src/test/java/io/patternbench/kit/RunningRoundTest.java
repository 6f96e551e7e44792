package io.patternbench.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** A round leaves nothing behind when it is over. */
class RunningRoundTest {
  private static final byte[] ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  @Test
  void itsConnectionsAreClosed() throws Exception {
    try (ServerSocket target = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      ObjectNode json = Rounds.round("{'baseline':{}}");
      json.put("target", "http://127.0.0.1:" + target.getLocalPort());
      PlainAdapter adapter = new PlainAdapter();
      Socket connection;
      try (RunningRound running = new RunningRound(Rounds.valid(json, adapter), adapter)) {
        running.start();
        connection = target.accept();
        answer(connection);
        assertTrue(running.awaitEnd(30_000));
      }
      connection.setSoTimeout(10_000);
      assertEquals(-1, connection.getInputStream().read(), "the end of the connection");
    }
  }

  private static void answer(Socket connection) throws IOException {
    byte[] head = new byte[8192];
    int length = 0;
    while (!new String(head, 0, length, StandardCharsets.US_ASCII).endsWith("\r\n\r\n")) {
      length += connection.getInputStream().read(head, length, head.length - length);
    }
    connection.getOutputStream().write(ANSWER);
  }
}
