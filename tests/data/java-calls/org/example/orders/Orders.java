package org.example.orders;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/** Makes orders and sums them up. */
class Orders {
  private final ExecutorService pool = Executors.newFixedThreadPool(2);
  private final Stock stock = new Stock();

  /** 4 calls for each of its lines, 4 more for the whole. */
  int total(int size) {
    List<Line> lines = IntStream.range(0, size).mapToObj(Line::new).toList(); // constructors: none
    var reserved = CompletableFuture.supplyAsync(() -> stock.reserve(size), pool); // 1, in another thread
    var sum = lines.stream().mapToInt(line -> line.number() + stock.price(line)).sum(); // 2 a line; price makes 1 more
    refuse(stock);
    return sum + reserved.join() + stock.each(lines, line -> line.number()); // 1; the lambda's own call: 1 a line
  }

  /** 1 call, which fails. */
  private void refuse(Stock stock) {
    try {
      stock.refuse();
    } catch (IllegalStateException expected) {
      stock.toString(); // none, as is anything that collections and logs call
    }
  }
}
