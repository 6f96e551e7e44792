// What every client on Node shares: the contract's server, rounds, users and rows.
export { serve } from './main.js';
export { delayUs } from './backoff.js';
export { Rejected, TIMEOUT, isRetried, isSuccess } from './outcomes.js';
export { breakersWithin, inMilliseconds, noRetryAfter } from './refusals.js';
