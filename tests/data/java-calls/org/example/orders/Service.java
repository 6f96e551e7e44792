package org.example.orders;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/**
 * A service whose calls between its classes are known by heart: for {@code GET /orders/N} they are 5 + 4 N, for
 * anything else none.
 */
public class Service {
  private final Orders orders = new Orders();

  public static void main(String[] words) throws IOException {
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
    server.createContext("/", new Service()::handle);
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.start();
  }

  /** Entered from the JDK, which is not the application: not counted. */
  void handle(HttpExchange exchange) throws IOException {
    var path = exchange.getRequestURI().getPath();
    var answer = path.startsWith("/orders/") ? total(Integer.parseInt(path.substring(8))) : "ready";
    exchange.sendResponseHeaders(200, answer.length());
    exchange.getResponseBody().write(answer.getBytes());
    exchange.close();
  }

  /** Within one class: not counted; 1 call of another. */
  private String total(int size) {
    return orders.total(size) + "\n";
  }
}
