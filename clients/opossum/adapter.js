// The retry of p-retry, and the semaphore and the time-out of opossum, every parameter set.
//
// opossum's circuit breaker isn't a strategy here. It keeps the failures of its window when it closes, and counts
// rejected calls as calls. So it does what the contract says in no configuration.
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import CircuitBreaker from 'opossum';
import pRetry from 'p-retry';
import { Rejected, TIMEOUT, inMilliseconds, isRetried, noRetryAfter } from '../kits/node/index.js';

const version = name =>
  JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version;

/** An attempt that failed, for p-retry to see: it retries on errors only. */
class Failed extends Error {
  constructor(outcome) {
    super(`${outcome}`);
    this.outcome = outcome;
  }
}

export const adapter = {
  description: {
    name: 'opossum',
    library: { name: 'opossum with p-retry', version: `${version('opossum')}/${version('p-retry')}` },
    strategies: ['baseline', 'retry', 'stack'],
  },
  policies: ['timeout', 'retry', 'bulkhead'],
  refused: (policy, entry) => REFUSED[policy.kind](policy, entry),
  guard: policy => GUARDS[policy.kind](policy),
};

const GUARDS = {
  retry: policy => async inner => {
    const tried = async () => {
      const outcome = await inner();
      if (isRetried(policy, outcome)) throw new Failed(outcome);
      return outcome;
    };
    try {
      return await pRetry(tried, retryOptions(policy));
    } catch (error) {
      if (error instanceof Failed) return error.outcome;
      throw error;
    }
  },

  bulkhead: policy => {
    const breaker = new CircuitBreaker(inner => inner(), breakerOptions({ capacity: policy.max_concurrent }));
    return async inner => {
      try {
        return await breaker.fire(inner);
      } catch (error) {
        throw error.code === 'ESEMLOCKED' ? new Rejected() : error;
      }
    };
  },

  /** opossum's own abortController would end every call of the breaker, so each call has its own one. */
  timeout: policy => {
    const options = breakerOptions({ timeout: policy.after_us / 1000 });
    const breaker = new CircuitBreaker((inner, signal) => inner(signal), options);
    return async inner => {
      const late = new AbortController();
      try {
        return await breaker.fire(inner, late.signal);
      } catch (error) {
        if (error.code !== 'ETIMEDOUT') throw error;
        late.abort();
        return TIMEOUT;
      }
    };
  },
};

/** p-retry counts retries, the contract the first attempt too. A rejection is never tried again. */
export function retryOptions({ max_attempts: attempts, backoff: { fixed, exponential } }) {
  const grown = exponential ?? { initial_us: fixed.delay_us, multiplier: 1, max_us: null };
  return {
    retries: attempts - 1,
    factor: grown.multiplier,
    minTimeout: grown.initial_us / 1000,
    maxTimeout: grown.max_us === null ? Infinity : grown.max_us / 1000,
    maxRetryTime: Infinity,
    randomize: false,
    unref: false,
    onFailedAttempt: () => {},
    shouldRetry: ({ error }) => error instanceof Failed,
  };
}

/** opossum's semaphore or its time-out alone: no share of failures is above 100 %, so that it never opens. */
export const breakerOptions = ({ capacity = Number.MAX_SAFE_INTEGER, timeout = false }) => ({
  capacity,
  timeout,
  errorThresholdPercentage: 100,
  volumeThreshold: 0,
  resetTimeout: 1,
  rollingCountTimeout: 10_000,
  rollingCountBuckets: 10,
  rollingPercentilesEnabled: false,
  // Nothing reads the statistics, and a timer for each round's would stay behind.
  rotateBucketController: new EventEmitter(),
  enableSnapshots: false,
  allowWarmUp: false,
  enabled: true,
  autoRenewAbortController: false,
  cache: false,
  coalesce: false,
});

const REFUSED = {
  *retry(policy) {
    const { fixed, linear, exponential } = policy.backoff;
    const initial = fixed?.delay_us ?? exponential?.initial_us;
    const path = fixed ? 'backoff.fixed.delay_us' : 'backoff.exponential.initial_us';
    yield* inMilliseconds('p-retry', { [path]: initial, 'backoff.exponential.max_us': exponential?.max_us });
    if (linear) yield ['backoff.linear', null, 'p-retry has none', 'fixed or exponential'];
    if (initial === 0) yield [path, initial, 'p-retry waits for a millisecond at least', 'from 1000'];
    if (policy.jitter !== 'none')
      yield [
        'jitter',
        policy.jitter,
        'p-retry spreads a delay up to twice its length, and has no other jitter',
        'none',
      ];
    yield* noRetryAfter(policy);
  },

  *timeout(policy) {
    yield* inMilliseconds('opossum', { after_us: policy.after_us });
  },

  *bulkhead(policy) {
    if (policy.max_waiting > 0)
      yield ['max_waiting', policy.max_waiting, 'nobody waits for the semaphore of opossum', '0'];
  },
};
