--- What a store can be asked to do with the state of one key, over any algorithm.
--
-- take: all of `amount` or nothing. reserve: `share` of what remains, at least one unit and at most `amount` (a lease).
-- report: book `amount` that was already used (a lazy lease), then say what remains. refund: give back `amount` taken at `at`.
-- Pure: no clock, no I/O. The same text runs in nginx, inside the Redis script and in simulated time.

local ceil, max, min = math.ceil, math.max, math.min

local M = {}

function M.take(core, state, now, rule, amount)
  local allowed, remaining, reset, retry_after, delay = core.decide(state, now, rule, amount)
  return allowed, remaining, reset, retry_after, delay, allowed and amount or 0
end

function M.reserve(core, state, now, rule, amount, share)
  local _, remaining = core.decide(state, now, rule, 0)
  local wanted = max(1, min(amount, ceil(remaining * share)))
  return M.take(core, state, now, rule, wanted)
end

function M.report(core, state, now, rule, amount)
  if amount > 0 then
    core.settle(state, now, rule, amount, now)
  end
  local _, remaining, reset = core.decide(state, now, rule, 0)
  local allowed, _, _, retry_after = M.probe(core, remaining, state, now, rule)
  return allowed, remaining, reset, retry_after, 0, 0
end

--- Whether one more unit would pass now, and when; looks only when nothing remains, so that nothing is taken.
function M.probe(core, remaining, state, now, rule)
  if remaining >= 1 then
    return true, remaining, 0, 0
  end
  return core.decide(state, now, rule, 1)
end

function M.refund(core, state, now, rule, amount, _, at)
  core.settle(state, now, rule, -amount, at)
  local _, remaining, reset = core.decide(state, now, rule, 0)
  return true, remaining, reset, 0, 0, 0
end

return M
