/** The delay in microseconds after this many failed attempts (at least 1), before jitter. */
export function delayUs(backoff, failedAttempts) {
  const [[kind, config]] = Object.entries(backoff);
  if (kind === 'fixed') return config.delay_us;
  const steps = failedAttempts - 1;
  const grown =
    kind === 'linear'
      ? config.initial_us + steps * config.increment_us
      : config.initial_us && config.initial_us * config.multiplier ** steps;
  return Math.min(grown, config.max_us ?? Infinity);
}
