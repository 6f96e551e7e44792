import http from 'node:http';
import https from 'node:https';
import { CONNECTION_ERROR, TIMEOUT, ofStatus } from './outcomes.js';

/** The one connection of a user: kept alive, without retries or redirects of its own. */
export class Connection {
  constructor(round) {
    const url = new URL(round.target);
    const scheme = url.protocol === 'https:' ? https : http;
    this.agent = new scheme.Agent({ keepAlive: true, maxSockets: 1 });
    this.start = scheme.request;
    const { method, path, headers, body, timeout_us: timeout } = round.request;
    // Node leaves the body of a DELETE out unless its length is said.
    const length = body === null ? {} : { 'Content-Length': Buffer.byteLength(body) };
    this.options = {
      host: url.hostname,
      port: url.port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: this.agent,
    };
    this.body = body;
    this.timeoutMs = Math.ceil(timeout / 1000);
  }

  /** One attempt: its outcome once the last byte has been read, or when it failed; `signal` ends it as a timeout. */
  send(signal) {
    return new Promise(resolve => {
      const request = this.start(this.options);
      const late = setTimeout(() => end(TIMEOUT), this.timeoutMs);
      const ended = () => end(TIMEOUT);
      signal?.addEventListener('abort', ended, { once: true });
      const end = outcome => {
        clearTimeout(late);
        signal?.removeEventListener('abort', ended);
        if (outcome === TIMEOUT) request.destroy();
        resolve(outcome);
      };
      request.on('response', response => {
        response.on('end', () => end(response.complete ? ofStatus(response.statusCode) : CONNECTION_ERROR));
        response.on('error', () => end(CONNECTION_ERROR));
        response.resume();
      });
      request.on('error', () => end(CONNECTION_ERROR));
      if (this.body === null) request.end();
      else request.end(this.body);
    });
  }

  /** Ends the attempt under way, and closes the connection. */
  close() {
    this.agent.destroy();
  }
}
