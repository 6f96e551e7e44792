package io.patternbench.calls.example;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** Calls another class in each way that the rule speaks of. */
public class Front {
  private final Back back = new Back();

  public void nothing() {}

  public int once() {
    return back.answer();
  }

  public int within() {
    return own() + own();
  }

  private int own() {
    return 1;
  }

  public void create() {
    new Back();
  }

  public int countDown(int times) {
    return times > 0 ? countDown(times - 1) : 0;
  }

  public int inTurn(int times) {
    return times > 0 ? back.inTurn(this, times - 1) : 0;
  }

  public int failing() {
    try {
      return back.failing();
    } catch (IllegalStateException expected) {
      return back.answer();
    }
  }

  public int parts(List<Item> items) {
    return items.stream().mapToInt(Item::number).sum();
  }

  public int lambda() {
    return back.run(() -> own() + back.answer() + back.answer());
  }

  public int anonymous() {
    return back.run(
        new Supplier<>() {
          @Override
          public Integer get() {
            return own() + back.answer();
          }
        });
  }

  public void elsewhere(Executor executor) {
    executor.execute(() -> back.answer());
  }

  public String incidental() {
    return back.toString() + back.hashCode() + back.equals(this);
  }

  public int generic() {
    Supplier<Integer> supplier = back;
    return supplier.get();
  }
}
