import { Connection } from './connection.js';
import { REJECTED, Rejected, isSuccess } from './outcomes.js';
import { policiesOf } from './refusals.js';
import { Rows } from './rows.js';
import { timekeeper } from './timekeeper.js';

/** An attempt of a round that is over: calls that still wait in a library end with it. */
class Stopped extends Error {}

/** An attempt of what a policy has ended: it does not begin. */
class Ended extends Error {}

/** A signal that is aborted when one of two is; either may be missing. */
const either = (one, other) => (one && other ? AbortSignal.any([one, other]) : (one ?? other));

/** One virtual user: calls one after another until it has enough. */
class User {
  constructor(number, running) {
    Object.assign(this, { number, running, round: running.round });
    this.connection = new Connection(running.round);
    this.calls = this.successes = this.attempts = this.attemptsOfCall = 0;
    this.underWay = null;
    // What a guard guards takes a signal that ends it; a guard that gives none lets it run.
    this.guarded = running.guards().reduceRight(
      (inner, guard) => signal => guard(own => inner(either(signal, own))),
      signal => this.attempt(signal),
    );
  }

  async run() {
    while (!this.hasEnough()) {
      if (await this.call()) await this.pause(this.round.rejected_pause_us);
      if (!this.hasEnough()) await this.pause(this.round.think_time_us);
    }
  }

  /** One call; whether it was rejected without an attempt. */
  async call() {
    this.attemptsOfCall = 0;
    const outcome = await this.outcome();
    await this.underWay; // what a policy has ended leaves its row before the next call begins
    if (isSuccess(outcome)) this.successes++;
    // Rejected, or its time was over while it waited.
    const rejected = this.attemptsOfCall === 0;
    if (rejected) this.running.rows.add(this.number, this.calls, 0, this.running.nowUs(), 0, REJECTED);
    this.calls++;
    return rejected;
  }

  async outcome() {
    try {
      return await this.guarded();
    } catch (error) {
      if (error instanceof Rejected) return REJECTED;
      throw error;
    }
  }

  async attempt(signal) {
    await this.underWay; // two attempts of a call never overlap
    if (this.running.stopped) throw new Stopped();
    if (signal?.aborted) throw new Ended();
    const sent = this.sent(signal);
    this.underWay = sent.catch(() => {}); // the caller gets the error
    return sent;
  }

  async sent(signal) {
    const { running } = this;
    this.attempts++;
    this.attemptsOfCall++;
    const start = running.nowUs();
    const outcome = await this.connection.send(signal);
    if (running.stopped) throw new Stopped();
    running.rows.add(this.number, this.calls, this.attemptsOfCall, start, running.nowUs() - start, outcome);
    return outcome;
  }

  hasEnough() {
    const { successes, max_attempts: most, time_limit_us: limit } = this.round;
    return (
      this.running.stopped ||
      (successes !== null && this.successes >= successes) ||
      (most !== null && this.attempts >= most) ||
      this.running.nowUs() >= limit
    );
  }

  /** Waits, though not beyond the round's end. */
  async pause(pauseUs) {
    const leftUs = Math.min(pauseUs, this.round.time_limit_us - this.running.nowUs());
    if (leftUs > 0 && !this.running.stopped) await this.running.timekeeper.wait(this.number, leftUs / 1000);
  }
}

/** A round under way: its users, and the rows that they leave. */
export class RunningRound {
  constructor(round, adapter) {
    Object.assign(this, { round, adapter, rows: new Rows(), stopped: false, durationUs: 0, cpuUs: 0, defect: null });
    this.shared = policiesOf(round).map(policy => (policy.scope === 'user' ? null : adapter.guard(policy)));
    this.timekeeper = timekeeper(round.users);
    this.startMs = 0;
    this.users = Array.from({ length: round.users }, (_, number) => new User(number, this));
  }

  /** The guards of one user, the outermost first. */
  guards() {
    return policiesOf(this.round).map((policy, i) => this.shared[i] ?? this.adapter.guard(policy));
  }

  /** Lets all users begin; resolves when the last of them has ended. */
  async run() {
    await this.timekeeper.ready;
    const cpu = process.cpuUsage();
    this.startMs = performance.now();
    await Promise.all(this.users.map(user => this.runToEnd(user)));
    const { user, system } = process.cpuUsage(cpu);
    this.cpuUs = user + system;
  }

  async runToEnd(user) {
    try {
      await user.run();
    } catch (error) {
      if (!this.stopped && !(error instanceof Stopped)) {
        this.defect = error;
        this.stop();
      }
    }
    this.durationUs = Math.max(this.durationUs, this.nowUs());
  }

  nowUs() {
    return Math.floor((performance.now() - this.startMs) * 1000);
  }

  /** Ends the round, finished or not, and everything that it holds. */
  stop() {
    this.stopped = true;
    this.timekeeper.endAll();
    for (const user of this.users) user.connection.close();
  }
}
