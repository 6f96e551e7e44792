// The kit's own tests of its pauses; a client's tests import them, and run them with their own.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Timekeeper } from './timekeeper.js';

/** With a keeper for a few pauses at once. Nothing but its pauses continues, so something must keep Node from ending. */
async function kept(body) {
  const awake = setInterval(() => {}, 1000);
  const keeper = new Timekeeper(3);
  await body(keeper);
  await keeper.close();
  clearInterval(awake);
}

test('a pause is never shorter than its time', () =>
  kept(async keeper => {
    for (const ms of [0.001, 0.3, 1.7, 4.3, 0.3]) {
      const began = performance.now();
      await keeper.wait(0, ms);
      assert.ok(performance.now() - began >= ms, `${performance.now() - began} instead of ${ms} ms`);
    }
  }));

test('a pause that begins later ends first when it is shorter', () =>
  kept(async keeper => {
    const ended = [];
    const longer = keeper.wait(0, 300).then(() => ended.push('longer'));
    const shorter = keeper.wait(2, 1).then(() => ended.push('shorter'));
    await Promise.all([longer, shorter]);
    assert.deepEqual(ended, ['shorter', 'longer']);
  }));

test('pauses are ended together, and a place can be used again', () =>
  kept(async keeper => {
    const waiting = [keeper.wait(0, 3_600_000), keeper.wait(1, 3_600_000)];
    keeper.endAll();
    await Promise.all(waiting);
    const began = performance.now();
    await keeper.wait(1, 2);
    assert.ok(performance.now() - began >= 2);
  }));
