/** The most rows of one batch. */
const MOST = 10_000;
const COLUMNS = ['user', 'call', 'attempt', 'start_us', 'duration_us', 'outcome'];

/** Rows on their way from the users to the stream. */
export class Rows {
  constructor() {
    this.columns = COLUMNS.map(() => []);
    this.taken = 0;
  }

  add(...row) {
    for (let i = 0; i < COLUMNS.length; i++) this.columns[i].push(row[i]);
  }

  /** The lines of the stream for what has come in; one empty batch where nothing has. */
  *lines() {
    const columns = this.columns;
    const count = columns[0].length;
    this.columns = COLUMNS.map(() => []);
    this.taken += count;
    for (let first = 0; first < Math.max(1, count); first += MOST) {
      const batch = COLUMNS.map((name, i) => [name, columns[i].slice(first, first + MOST)]);
      yield `${JSON.stringify({ batch: Object.fromEntries(batch) })}\n`;
    }
  }
}
