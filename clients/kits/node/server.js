import http from 'node:http';
import { problems } from './refusals.js';
import { RunningRound } from './users.js';

/** Twice within the contract's 200 ms, with room for a busy machine. */
const BATCH_EVERY_MS = 80;
const CALLS = 'GET /client, POST /check, POST /rounds';

/** The contract's side of a client: one round at a time. */
export function contractServer(adapter) {
  let busy = false;

  async function answer(request, response) {
    const text = await bodyOf(request);
    const call = `${request.method} ${request.url}`;
    if (call === 'GET /client') reply(response, 200, described(adapter));
    else if (call === 'POST /check') reply(response, 200, { problems: problems(text, adapter) });
    else if (call === 'POST /rounds') await round(text, response);
    else reply(response, 404, { error: `${call} isn't one of ${CALLS}` });
  }

  async function round(text, response) {
    const refused = problems(text, adapter);
    if (refused.length) return reply(response, 422, { problems: refused });
    if (busy) return reply(response, 409, { error: 'another round is running; wait for its end, or close it' });
    busy = true;
    const running = new RunningRound(JSON.parse(text), adapter);
    // The last line goes out when the client is free again: who has read it may start a round.
    const free = () => {
      running.stop();
      busy = false;
    };
    await stream(running, response, free);
  }

  return http.createServer((request, response) => {
    response.socket.setNoDelay(true);
    answer(request, response).catch(error => response.destroy(error));
  });
}

async function stream(running, response, free) {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  response.flushHeaders();
  const write = () => {
    for (const line of running.rows.lines()) response.write(line);
  };
  const ticking = setInterval(write, BATCH_EVERY_MS);
  const abandoned = new Promise(resolve => response.on('close', () => resolve(true)));
  const left = await Promise.race([abandoned, running.run()]);
  clearInterval(ticking);
  free();
  if (left) return;
  write();
  response.end(`${JSON.stringify(lastLine(running))}\n`);
}

function lastLine(running) {
  if (running.defect) return { error: `a user could not go on: ${running.defect}` };
  return { end: { rows: running.rows.taken, duration_us: running.durationUs, cpu_us: running.cpuUs } };
}

const described = ({ description }) => ({
  contract: 1,
  version: '0.1.0',
  language: `Node ${process.versions.node}`,
  ...description,
});

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function reply(response, status, value) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}
