import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rejected } from '../kits/node/index.js';
import { problems } from '../kits/node/refusals.js';
import { rowsOf } from '../kits/node/testing.js';
import { adapter, retryOptions } from './adapter.js';

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
const retry = (backoff, jitter = 'none') => ({ max_attempts: 3, backoff, jitter });
const FIXED = { fixed: { delay_us: 1000 } };

test('times are milliseconds, and retries one less than attempts', () => {
  const options = retryOptions(retry({ exponential: { initial_us: 20_000, multiplier: 1.5, max_us: 50_000 } }));
  assert.deepEqual([options.retries, options.minTimeout, options.factor, options.maxTimeout], [2, 20, 1.5, 50]);
  assert.deepEqual([retryOptions(retry(FIXED)).factor, retryOptions(retry(FIXED)).maxTimeout], [1, Infinity]);
});

test('a call ends with its last attempt, and a failure that is not named ends it at once', async () => {
  let made = 0;
  const fails = async () => (made++, 503);
  assert.equal(await adapter.guard({ kind: 'retry', ...retry(FIXED) })(fails), 503);
  assert.equal(made, 3);
  assert.equal(await adapter.guard({ kind: 'retry', ...retry(FIXED), on: [404] })(fails), 503);
  assert.equal(made, 4);
});

test('a second call is rejected while the first is inside, however many failed before', async () => {
  const guard = adapter.guard({ kind: 'bulkhead', max_concurrent: 1, max_waiting: 0, scope: 'client' });
  for (let i = 0; i < 30; i++) await guard(async () => 503);
  let leave;
  const inside = guard(() => new Promise(resolve => (leave = resolve)));
  await assert.rejects(
    guard(async () => 200),
    Rejected,
  );
  leave(200);
  assert.equal(await inside, 200);
  assert.equal(await guard(async () => 200), 200);
});

test('what the libraries cannot express is refused by name', () => {
  const linear = { linear: { initial_us: 0, increment_us: 1000, max_us: null } };
  assert.deepEqual(refused({ retry: retry(linear) }), ['strategy.retry.backoff.linear']);
  assert.deepEqual(refused({ retry: retry(FIXED, 'full') }), ['strategy.retry.jitter']);
  assert.deepEqual(refused({ retry: retry({ fixed: { delay_us: 0 } }) }), ['strategy.retry.backoff.fixed.delay_us']);
  const bulkhead = { max_concurrent: 1, max_waiting: 1, scope: 'client' };
  assert.deepEqual(refused({ stack: [{ bulkhead }] }), ['strategy.stack[0].bulkhead.max_waiting']);
});

test('a time-out ends the attempt under way, and a retry around it goes on', async () => {
  const again = { ...retry({ fixed: { delay_us: 1000 } }), max_attempts: 2 };
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

test('a time-out that opossum would cut is refused by name', () => {
  assert.deepEqual(refused({ stack: [{ timeout: { after_us: 1500 } }] }), ['strategy.stack[0].timeout.after_us']);
});
