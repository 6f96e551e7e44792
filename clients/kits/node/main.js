import { contractServer } from './server.js';

/** Serves the contract on `--port` (0, the default, takes a free one) until the process is ended. */
export function serve(adapter) {
  const port = portOf(process.argv.slice(2));
  const server = contractServer(adapter);
  server.on('error', error => {
    fail(`cannot listen on port ${port}: ${error.message}; --port 0 takes a free one`);
  });
  server.listen(port, '127.0.0.1', () => {
    console.log(JSON.stringify({ listening: `127.0.0.1:${server.address().port}` }));
  });
  process.on('SIGTERM', () => process.exit(0));
}

function portOf(words) {
  if (!words.length) return 0;
  const [flag, text] = words;
  if (words.length !== 2 || flag !== '--port' || !/^\d{1,5}$/.test(text) || Number(text) > 65535)
    fail(`cannot read "${words.join(' ')}"; allowed: --port PORT, from 0 to 65535`);
  return Number(text);
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(2);
}
