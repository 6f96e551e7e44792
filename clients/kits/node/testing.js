// Rounds against a target that follows a script; for the tests of every adapter.
import http from 'node:http';
import { RunningRound } from './users.js';

/** The rows as [call, attempt, outcome] of one user's round until a call succeeds; a status of 0 is never answered. */
export async function rowsOf(adapter, strategy, statuses) {
  const left = [...statuses];
  const server = http.createServer((_, response) => {
    const status = left.shift();
    if (status) response.writeHead(status).end();
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const running = new RunningRound(roundAt(server.address().port, strategy), adapter);
  await running.run();
  running.stop();
  server.closeAllConnections();
  server.close();
  if (running.defect) throw running.defect;
  const [, call, attempt, , , outcome] = running.rows.columns;
  return call.map((number, i) => [number, attempt[i], outcome[i]]);
}

const roundAt = (port, strategy) => ({
  contract: 1,
  target: `http://127.0.0.1:${port}`,
  request: { method: 'GET', path: '/', headers: {}, body: null, timeout_us: 5_000_000 },
  users: 1,
  think_time_us: 0,
  successes: 1,
  max_attempts: null,
  rejected_pause_us: 1000,
  time_limit_us: 10_000_000,
  seed: 1,
  strategy,
});
