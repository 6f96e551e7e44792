// What became of an attempt: the status of an answer, or a name.
export const TIMEOUT = 'timeout';
export const CONNECTION_ERROR = 'connection_error';
export const REJECTED = 'rejected';

/** A policy has let nothing through. */
export class Rejected extends Error {}

/** Whether a call that ends with this has succeeded: a status from 200 to 399. */
export const isSuccess = outcome => outcome >= 200 && outcome <= 399;

/** The outcome of a status. One that HTTP does not have counts as a connection error. */
export const ofStatus = status => (status >= 100 && status <= 599 ? status : CONNECTION_ERROR);

/** Whether a retry tries an outcome again; `on` names the failures, or is missing for all of them. */
export const isRetried = (retry, outcome) =>
  !isSuccess(outcome) && (retry.on === undefined || retry.on.some(failure => isIn(outcome, `${failure}`)));

/** Whether a failure that a retry names, as `503`, `500-599` or a name, is meant. */
function isIn(outcome, failure) {
  const [first, last = first] = failure.split('-').map(Number);
  return outcome === failure || (outcome >= first && outcome <= last);
}
