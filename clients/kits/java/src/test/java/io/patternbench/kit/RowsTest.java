package io.patternbench.kit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RowsTest {
  @Test
  void aLineHoldsTheColumnsOfTheContract() {
    Rows rows = new Rows();
    rows.add(0, 0, 1, 12, 3050, 503);
    rows.add(1, 0, 0, 15, 0, Outcome.REJECTED);
    assertEquals(
        "{'batch':{'user':[0,1],'call':[0,0],'attempt':[1,0],'start_us':[12,15],"
            + "'duration_us':[3050,0],'outcome':[503,'rejected']}}\n",
        Rows.line(rows.take(), 0).replace('"', '\''));
    assertEquals(2, rows.taken());
  }

  @Test
  void aBatchHoldsAtMostTenThousandRowsAndNoneIsLost() {
    Rows rows = new Rows();
    for (int call = 0; call < 25_000; call++) {
      rows.add(0, call, 1, call, 0, 200);
    }
    long[] taken = rows.take();
    assertEquals(10_000, statuses(Rows.line(taken, 0)));
    assertEquals(10_000, statuses(Rows.line(taken, 10_000)));
    assertEquals(5_000, statuses(Rows.line(taken, 20_000)));
  }

  @Test
  void takenRowsAreNotTakenAgain() {
    Rows rows = new Rows();
    rows.add(0, 0, 1, 0, 0, 200);
    assertEquals(1, Rows.count(rows.take()));
    assertEquals(0, Rows.count(rows.take()));
    assertEquals(1, rows.taken());
  }

  @Test
  void namedOutcomesAreStringsAndStatusesNumbers() {
    assertEquals("\"timeout\"", Outcome.json(Outcome.TIMEOUT));
    assertEquals("\"connection_error\"", Outcome.json(Outcome.ofStatus(600)));
    assertEquals("599", Outcome.json(Outcome.ofStatus(599)));
  }

  @Test
  void anAnswerIsASuccessFrom200To399AndOnlyAStatusOfHttpIsAnAnswer() {
    int[] successes = IntStream.rangeClosed(-3, 700).filter(Outcome::isSuccess).toArray();
    assertArrayEquals(IntStream.rangeClosed(200, 399).toArray(), successes);
    int[] answers = IntStream.range(0, 700).filter(s -> Outcome.ofStatus(s) == s).toArray();
    assertArrayEquals(IntStream.rangeClosed(100, 599).toArray(), answers);
    assertEquals(Outcome.CONNECTION_ERROR, Outcome.ofStatus(99));
  }

  private static int statuses(String line) {
    String outcomes = line.substring(line.indexOf("\"outcome\""));
    return outcomes.split("200", -1).length - 1;
  }
}
