// What several libraries cannot express, and the paths by which it is refused.
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'connection', 'host'];
const FIELDS = [
  'contract',
  'target',
  'request',
  'users',
  'think_time_us',
  'successes',
  'max_attempts',
  'rejected_pause_us',
  'time_limit_us',
  'seed',
  'strategy',
];

const problem = (path, value, message, allowed = null) => ({ path, value, message, allowed });

/** What a client cannot do of a body that it was sent: an empty list for a round that it can run. */
export function problems(text, adapter) {
  const round = parsed(text);
  if (round?.contract !== 1 || !Object.keys(round).every(name => FIELDS.includes(name)))
    return [problem('contract', round?.contract ?? null, 'is not a round of version 1 of the contract', '1')];
  const own = Object.keys(round.request.headers).filter(name => OWN_HEADERS.includes(name.toLowerCase()));
  const refused = own.map(name => problem(`request.headers.${name}`, null, 'this client sets the header itself'));
  const [kind] = Object.keys(round.strategy);
  const { strategies } = adapter.description;
  if (!strategies.includes(kind))
    return [...refused, problem('strategy', kind, 'this client does not have it', strategies.join(', '))];
  return [...refused, ...ofPolicies(round, kind, adapter)];
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The policies of a round, the outermost first: none for the baseline. */
export function policiesOf(round) {
  const [[kind, config]] = Object.entries(round.strategy);
  if (kind === 'baseline') return [];
  const stack = kind === 'stack' ? config : [round.strategy];
  return stack.map(entry => {
    const [[name, settings]] = Object.entries(entry);
    return { kind: name, ...settings };
  });
}

function* ofPolicies(round, kind, adapter) {
  const policies = policiesOf(round);
  for (const [index, policy] of policies.entries()) {
    const path = kind === 'stack' ? `strategy.stack[${index}].${policy.kind}` : `strategy.${policy.kind}`;
    if (!adapter.policies.includes(policy.kind)) {
      yield problem(path, null, 'this client does not have it', adapter.policies.join(', '));
      continue;
    }
    const entry = { guarded: policies.slice(index + 1), users: round.users };
    for (const [below, value, message, allowed] of adapter.refused(policy, entry))
      yield problem(below ? `${path}.${below}` : path, value, message, allowed);
  }
}

/** Times that a library, which counts milliseconds, would cut; null and undefined are fine. */
export function* inMilliseconds(library, times) {
  for (const [path, us] of Object.entries(times))
    if (us != null && us % 1000)
      yield [path, us, `${library} counts this time in whole milliseconds`, 'a multiple of 1000'];
}

/** No client of this kit reads Retry-After. */
export function* noRetryAfter(retry) {
  if (retry.retry_after_max_us)
    yield ['retry_after_max_us', retry.retry_after_max_us, 'this client does not read Retry-After', '0'];
}

/** A breaker between a time-out and a retry: what ends in a pause never leaves it, so that it counts nothing. */
export function* breakersWithin(library, guarded) {
  const breaker = guarded.findIndex(({ kind }) => kind === 'circuit_breaker');
  if (breaker >= 0 && guarded.slice(breaker).some(({ kind }) => kind === 'retry'))
    yield [
      '',
      null,
      `${library} does not count as failed what a time-out around its breaker ends in a pause`,
      'a circuit_breaker around the timeout, or one that guards no retry',
    ];
}
