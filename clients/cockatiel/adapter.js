// cockatiel's retry, circuit breaker, bulkhead and timeout, every parameter set.
import { readFileSync } from 'node:fs';
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  ConsecutiveBreaker,
  ConstantBackoff,
  DelegateBackoff,
  ExponentialBackoff,
  TaskCancelledError,
  TimeoutStrategy,
  bulkhead,
  circuitBreaker,
  fullJitterGenerator,
  halfJitterGenerator,
  handleWhenResult,
  noJitterGenerator,
  retry,
  timeout,
} from 'cockatiel';
import {
  Rejected,
  TIMEOUT,
  breakersWithin,
  delayUs,
  inMilliseconds,
  isRetried,
  isSuccess,
  noRetryAfter,
} from '../kits/node/index.js';

const installed = new URL('./node_modules/cockatiel/package.json', import.meta.url);
const GENERATORS = { none: noJitterGenerator, full: fullJitterGenerator, equal: halfJitterGenerator };

export const adapter = {
  description: {
    name: 'cockatiel',
    library: { name: 'cockatiel', version: JSON.parse(readFileSync(installed)).version },
    strategies: ['baseline', 'retry', 'circuit_breaker', 'stack'],
  },
  policies: ['timeout', 'retry', 'circuit_breaker', 'bulkhead'],
  refused: (policy, entry) => REFUSED[policy.kind](policy, entry),
  guard(policy) {
    const ofLibrary = LIBRARY[policy.kind](policy);
    return async inner => {
      try {
        return await ofLibrary.execute(({ signal }) => inner(policy.kind === 'timeout' ? signal : undefined));
      } catch (error) {
        if (error instanceof TaskCancelledError) return TIMEOUT;
        throw error instanceof BrokenCircuitError || error instanceof BulkheadRejectedError ? new Rejected() : error;
      }
    };
  },
};

export const LIBRARY = {
  /** cockatiel's maxAttempts counts retries, the contract's the first attempt too. */
  retry: policy =>
    retry(
      handleWhenResult(outcome => isRetried(policy, outcome)),
      {
        maxAttempts: policy.max_attempts - 1,
        backoff: backoff(policy),
      },
    ),
  circuit_breaker: policy =>
    circuitBreaker(
      handleWhenResult(outcome => !isSuccess(outcome)),
      {
        halfOpenAfter: policy.open_for_us / 1000,
        breaker: new ConsecutiveBreaker(policy.window.calls),
      },
    ),
  bulkhead: policy => bulkhead(policy.max_concurrent, policy.max_waiting),
  /** Aggressive: the caller continues at once, and the signal ends what it guards. */
  timeout: policy => timeout(policy.after_us / 1000, { strategy: TimeoutStrategy.Aggressive, abortOnReturn: false }),
};

/** The library's own back-off where it has it; else the delay is computed, as the library lets us. */
function backoff({ backoff: wanted, jitter }) {
  if (wanted.fixed) return new ConstantBackoff(wanted.fixed.delay_us / 1000);
  // Node's timers count whole milliseconds, and cut off the rest.
  if (!doubles(wanted)) return new DelegateBackoff(({ attempt }) => Math.ceil(delayUs(wanted, attempt) / 1000));
  const { initial_us: initial, multiplier, max_us: max } = wanted.exponential;
  return new ExponentialBackoff({
    initialDelay: initial / 1000,
    maxDelay: max === null ? Number.MAX_SAFE_INTEGER : max / 1000,
    exponent: multiplier,
    generator: GENERATORS[jitter],
  });
}

/** cockatiel's generators double every delay, whatever `exponent` says. */
const doubles = ({ exponential }) => exponential?.multiplier === 2;

const REFUSED = {
  *retry(policy) {
    const { fixed, linear, exponential } = policy.backoff;
    yield* inMilliseconds('cockatiel', {
      'backoff.fixed.delay_us': fixed?.delay_us,
      'backoff.linear.initial_us': linear?.initial_us,
      'backoff.linear.increment_us': linear?.increment_us,
      'backoff.linear.max_us': linear?.max_us,
      'backoff.exponential.initial_us': exponential?.initial_us,
      'backoff.exponential.max_us': exponential?.max_us,
    });
    yield* noRetryAfter(policy);
    const spread = doubles(policy.backoff) ? Object.keys(GENERATORS) : ['none'];
    if (!spread.includes(policy.jitter))
      yield ['jitter', policy.jitter, 'cockatiel spreads delays that double, and no others', spread.join(', ')];
  },

  *circuit_breaker(policy, { guarded, users }) {
    if (guarded.some(({ kind }) => !['retry', 'timeout'].includes(kind)))
      yield [
        '',
        null,
        'cockatiel closes a half-open breaker when the call that tries is rejected further in',
        'a breaker around retries and time-outs, or alone',
      ];
    const { calls } = policy.window;
    yield* inMilliseconds('cockatiel', { open_for_us: policy.open_for_us });
    if (policy.slow_call) yield ['slow_call', policy.slow_call.rate, 'cockatiel does not count slow calls', 'null'];
    if (policy.half_open_calls > 1)
      yield ['half_open_calls', policy.half_open_calls, 'cockatiel tries one call when it is half open', '1'];
    if (policy.scope === 'client' && users > 1)
      yield [
        'scope',
        policy.scope,
        'cockatiel lets calls wait for the one that tries, instead of rejecting them',
        'user, or one user',
      ];
    const why = 'cockatiel starts a window with the success that closed it: only failures in a row are the same';
    if (calls === undefined) yield ['window.time_us', policy.window.time_us, why, 'window.calls'];
    else if (policy.minimum_calls !== calls)
      yield ['minimum_calls', policy.minimum_calls, why, `${calls}, as window.calls`];
    else if (Math.ceil((policy.failure_rate * calls) / 100) < calls)
      yield ['failure_rate', policy.failure_rate, why, '100'];
  },

  *timeout(policy, { guarded }) {
    yield* inMilliseconds('cockatiel', { after_us: policy.after_us });
    yield* breakersWithin('cockatiel', guarded);
  },

  *bulkhead(policy) {
    if (policy.max_wait_us !== undefined && policy.max_waiting > 0)
      yield [
        'max_wait_us',
        policy.max_wait_us,
        'cockatiel does not bound how long a call waits',
        'nothing, or max_waiting 0',
      ];
  },
};
