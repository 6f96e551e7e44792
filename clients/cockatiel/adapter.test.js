import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { problems } from '../kits/node/refusals.js';
import { rowsOf } from '../kits/node/testing.js';
import '../kits/node/timekeeper.testing.js';
import { LIBRARY, adapter } from './adapter.js';

const VECTORS = new URL('../../contracts/client/vectors/backoff.json', import.meta.url);
const BREAKER = {
  failure_rate: 100,
  slow_call: null,
  window: { calls: 2 },
  minimum_calls: 2,
  open_for_us: 20_000,
  half_open_calls: 1,
  scope: 'user',
};

const round = strategy => ({
  contract: 1,
  target: 'http://127.0.0.1:1',
  request: { method: 'GET', path: '/', headers: {}, body: null, timeout_us: 1 },
  users: 2,
  think_time_us: 0,
  successes: 1,
  max_attempts: null,
  rejected_pause_us: 1,
  time_limit_us: 1,
  seed: 1,
  strategy,
});
const refused = strategy => problems(JSON.stringify(round(strategy)), adapter).map(({ path }) => path);
const retry = (backoff, jitter = 'none') => ({ max_attempts: 6, backoff, jitter });

function delays(policy, count) {
  let backoff = LIBRARY.retry(policy).options.backoff;
  return Array.from({ length: count }, (_, i) => {
    backoff = backoff.next({ attempt: i + 1, result: {} });
    return backoff.duration;
  });
}

test('delays are those of the shared vectors in whole milliseconds, and never early', () => {
  for (const { name, backoff, delays_us: due } of JSON.parse(readFileSync(VECTORS)).cases)
    delays(retry(backoff), due.length).forEach((ms, i) => {
      const late = ms * 1000 - due[i];
      assert.ok(Number.isInteger(ms) && late >= 0 && late < 1000, `${name} ${i}: ${ms} ms`);
    });
});

test('jitter spreads over what the contract says', () => {
  for (const [jitter, low, high] of [
    ['full', 0, 40],
    ['equal', 20, 40],
  ]) {
    const doubled = { exponential: { initial_us: 20_000, multiplier: 2, max_us: null } };
    const drawn = Array.from({ length: 2000 }, () => delays(retry(doubled, jitter), 2)[1]);
    assert.ok(Math.min(...drawn) >= low && Math.max(...drawn) <= high);
    assert.ok(Math.min(...drawn) < low + 2 && Math.max(...drawn) > high - 3);
  }
});

test('attempts include the first, and a call ends with its last', async () => {
  let made = 0;
  const call = adapter.guard({ kind: 'retry', ...retry({ fixed: { delay_us: 0 } }) });
  assert.equal(await call(async () => (made++, 503)), 503);
  assert.equal(made, 6);
});

test('what the breaker cannot express is refused by name', () => {
  const path = (field, value) => refused({ circuit_breaker: { ...BREAKER, [field]: value } });
  assert.deepEqual(refused({ circuit_breaker: BREAKER }), []);
  for (const [field, value] of [
    ['half_open_calls', 2],
    ['minimum_calls', 1],
    ['failure_rate', 50],
    ['open_for_us', 1500],
    ['scope', 'client'],
  ])
    assert.deepEqual(path(field, value), [`strategy.circuit_breaker.${field}`]);
  assert.deepEqual(path('window', { time_us: 1_000_000 }), ['strategy.circuit_breaker.window.time_us']);
});

test('what a retry and a bulkhead cannot express is refused by name', () => {
  for (const jitter of ['full', 'equal', 0.5])
    assert.deepEqual(refused({ retry: retry({ fixed: { delay_us: 1000 } }, jitter) }), ['strategy.retry.jitter']);
  const linear = { linear: { initial_us: 1000, increment_us: 500, max_us: null } };
  assert.deepEqual(refused({ retry: retry(linear, 'full') }), [
    'strategy.retry.backoff.linear.increment_us',
    'strategy.retry.jitter',
  ]);
  const bulkhead = { max_concurrent: 1, max_waiting: 1, max_wait_us: 5000, scope: 'client' };
  assert.deepEqual(refused({ stack: [{ bulkhead }, { timeout: { after_us: 1 } }] }), [
    'strategy.stack[0].bulkhead.max_wait_us',
    'strategy.stack[1].timeout.after_us',
  ]);
});

test('a time-out ends the attempt under way, and a retry around it goes on', async () => {
  const again = { ...retry({ fixed: { delay_us: 0 } }), max_attempts: 2 };
  const stack = [{ retry: again }, { timeout: { after_us: 500_000 } }];
  assert.deepEqual(await rowsOf(adapter, { stack }, [0, 200]), [
    [0, 1, 'timeout'],
    [0, 2, 200],
  ]);
});

test('a time-out around a retry ends its pause, and what was paused begins no attempt', async () => {
  const again = { ...retry({ fixed: { delay_us: 750_000 } }), max_attempts: 2 };
  const stack = [{ timeout: { after_us: 500_000 } }, { retry: again }];
  // The second call is under way when the first one's pause would have been over.
  const rows = [
    [0, 1, 503],
    [1, 1, 'timeout'],
    [2, 1, 200],
  ];
  assert.deepEqual(await rowsOf(adapter, { stack }, [503, 0, 200]), rows);
});

test('a time-out says so to what it guards, and to nobody else', async () => {
  const guard = adapter.guard({ kind: 'timeout', after_us: 20_000 });
  let told;
  const hangs = signal => new Promise(() => signal.addEventListener('abort', () => (told = true)));
  assert.equal(await guard(hangs), 'timeout');
  assert.ok(told);
  const seen = [];
  assert.equal(await guard(async signal => (seen.push(signal.aborted), 503)), 503);
  assert.deepEqual(seen, [false]);
});

test('a breaker between a time-out and a retry is refused', () => {
  const [timeout, breaker, tried] = [
    { timeout: { after_us: 1000 } },
    { circuit_breaker: BREAKER },
    { retry: retry({ fixed: { delay_us: 0 } }) },
  ];
  assert.deepEqual(refused({ stack: [timeout, breaker, tried] }), ['strategy.stack[0].timeout']);
  assert.deepEqual(refused({ stack: [breaker, timeout, tried] }), []);
});

test('a breaker around a policy that rejects is refused, whatever else it is around', () => {
  const bulkhead = { bulkhead: { max_concurrent: 1, max_waiting: 0, scope: 'user' } };
  const tried = { retry: retry({ fixed: { delay_us: 0 } }) };
  for (const guarded of [[bulkhead], [tried, bulkhead], [bulkhead, tried]])
    assert.deepEqual(refused({ stack: [{ circuit_breaker: BREAKER }, ...guarded] }), [
      'strategy.stack[0].circuit_breaker',
    ]);
});

test('a wait that a server asks for is refused, as this client would not hear it', () => {
  const fixed = { fixed: { delay_us: 1000 } };
  assert.deepEqual(refused({ retry: { ...retry(fixed), retry_after_max_us: 1000 } }), [
    'strategy.retry.retry_after_max_us',
  ]);
  assert.deepEqual(refused({ retry: { ...retry(fixed), retry_after_max_us: 0 } }), []);
});
