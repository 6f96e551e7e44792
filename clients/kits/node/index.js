// What every client on Node shares: the contract's server, rounds, users and rows.
export { serve } from './main.js';
export { delayUs } from './backoff.js';
export { Rejected, isRetried, isSuccess } from './outcomes.js';
export { inMilliseconds, noRetryAfter } from './refusals.js';
