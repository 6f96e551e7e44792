package io.patternbench.kit;

import java.util.Arrays;

/** Rows on their way from the users to the stream; safe for many threads. */
final class Rows {
  /** The most rows of one batch. */
  static final int BATCH = 10_000;

  private static final int COLUMNS = 6;
  private static final String[] NAMES = {
    "user", "call", "attempt", "start_us", "duration_us", "outcome"
  };

  private long[] cells = new long[COLUMNS * 1024];
  private int used;
  private long taken;

  synchronized void add(
      int user, long call, long attempt, long startUs, long durationUs, int outcome) {
    if (used == cells.length) {
      cells = Arrays.copyOf(cells, used * 2);
    }
    cells[used++] = user;
    cells[used++] = call;
    cells[used++] = attempt;
    cells[used++] = startUs;
    cells[used++] = durationUs;
    cells[used++] = outcome;
  }

  /** Takes what has come in since the last time, row after row. */
  synchronized long[] take() {
    long[] rows = Arrays.copyOf(cells, used);
    taken += used / COLUMNS;
    used = 0;
    return rows;
  }

  /** How many rows have been taken so far. */
  synchronized long taken() {
    return taken;
  }

  /** One line of the stream for at most {@link #BATCH} rows, from the given row on. */
  static String line(long[] rows, int firstRow) {
    int end = Math.min(rows.length, (firstRow + BATCH) * COLUMNS);
    StringBuilder line = new StringBuilder((end - firstRow * COLUMNS) * 7 + 100);
    line.append("{\"batch\":{");
    for (int column = 0; column < COLUMNS; column++) {
      line.append(column == 0 ? "\"" : ",\"").append(NAMES[column]).append("\":[");
      appendColumn(line, rows, firstRow * COLUMNS + column, end);
      line.append(']');
    }
    return line.append("}}\n").toString();
  }

  private static void appendColumn(StringBuilder line, long[] rows, int from, int end) {
    boolean outcome = from % COLUMNS == COLUMNS - 1;
    for (int i = from; i < end; i += COLUMNS) {
      if (i > from) {
        line.append(',');
      }
      line.append(outcome ? Outcome.json((int) rows[i]) : Long.toString(rows[i]));
    }
  }

  /** How many rows there are in what {@link #take} gave. */
  static int count(long[] rows) {
    return rows.length / COLUMNS;
  }
}
