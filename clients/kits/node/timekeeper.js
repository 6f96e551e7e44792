import { once } from 'node:events';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

/** Where the number of changes stands; the flag of a place follows it. */
const CHANGES = 0;
const LEAST_PLACES = 64;

/** Milliseconds of a clock that all threads share, and that never steps. */
const nowMs = () => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
};

/**
 * Keeps pauses to a fraction of a millisecond, on its own thread: Node's timers count whole milliseconds, and
 * waiting for the rest of one by looking at the clock takes CPU time from what is measured.
 */
export class Timekeeper {
  /** For this many pauses at once, each known by its place from 0 on. */
  constructor(places) {
    this.places = places;
    this.flags = new Int32Array(new SharedArrayBuffer(4 * (places + 1)));
    this.deadlines = new Float64Array(new SharedArrayBuffer(8 * places)).fill(Infinity);
    this.worker = new Worker(new URL(import.meta.url), { workerData: [this.flags, this.deadlines] });
    this.ready = once(this.worker, 'online');
    this.worker.unref();
  }

  /** Waits as long, never less, unless all pauses are ended. */
  async wait(place, ms) {
    const flag = place + 1;
    Atomics.store(this.flags, flag, 0);
    this.deadlines[place] = nowMs() + ms;
    this.changed();
    await Atomics.waitAsync(this.flags, flag, 0).value;
  }

  /** Ends the pauses under way. */
  endAll() {
    this.deadlines.fill(Infinity);
    for (let place = 0; place < this.places; place++) end(this.flags, place);
    this.changed();
  }

  /** Ends the thread; callers that still wait, wait for ever. */
  close() {
    return this.worker.terminate();
  }

  changed() {
    Atomics.add(this.flags, CHANGES, 1);
    Atomics.notify(this.flags, CHANGES);
  }
}

let shared = null;

/** The one of this process; a larger one takes its place when there are not enough places. */
export function timekeeper(places) {
  if (!shared || shared.places < places) {
    shared?.close();
    shared = new Timekeeper(Math.max(places, LEAST_PLACES));
  }
  return shared;
}

function end(flags, place) {
  Atomics.store(flags, place + 1, 1);
  Atomics.notify(flags, place + 1);
}

/** Ends the pauses that are over; how many milliseconds it is to the end of the next. */
function ring(flags, deadlines) {
  let next = Infinity;
  const now = nowMs();
  for (let place = 0; place < deadlines.length; place++) {
    if (deadlines[place] > now) {
      next = Math.min(next, deadlines[place]);
    } else {
      deadlines[place] = Infinity;
      end(flags, place);
    }
  }
  return next - now;
}

function keep([flags, deadlines]) {
  for (;;) {
    // Read first: a change that comes while the deadlines are looked at is not slept through.
    const changes = Atomics.load(flags, CHANGES);
    Atomics.wait(flags, CHANGES, changes, ring(flags, deadlines));
  }
}

if (!isMainThread) keep(workerData);
