import com.sun.net.httpserver.HttpServer;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;

/** A small shop on the Java virtual machine: answers every path with its heap and the words that it was told. */
public class Shop {
  public static void main(String[] words) throws Exception {
    int port = Integer.parseInt(System.getenv("PORT"));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/", exchange -> {
      var options = ManagementFactory.getRuntimeMXBean().getInputArguments();
      var text = Runtime.getRuntime().maxMemory() + "\n" + String.join(" ", words) + "\n" + options;
      var body = text.getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    System.out.println("listening on " + port);
  }
}
