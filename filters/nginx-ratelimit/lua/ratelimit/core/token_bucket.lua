--- Token bucket: holds up to `burst` tokens and gains `limit` per `window`; a request takes `cost`.
--
-- State (array of numbers, all zero when new): [1] time of the last change, [2] what is missing from a full bucket.
-- The missing part counts in units of 1/window token, so that it shrinks by `limit` a microsecond and a token is `window`:
-- every step is a whole number and nothing rounds (exact while burst * window < 2^53).
-- The formula: missing = max(0, missing - elapsed * limit); admit when missing + cost * window <= burst * window.
-- Example: limit 60 per 60 s, burst 2: at 0 s two pass, the third is told to retry after 1 s.
-- Weak point: burst + limit can pass in one window. A clock that steps back refills nothing until it moves on; one that is set
-- back by more than a full bucket takes to fill begins again.

local ceil, floor, max = math.ceil, math.floor, math.max

local M = { name = "token_bucket", leasable = true }

--- Numbers of state that one key needs.
function M.size()
  return 2
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return ceil(rule.burst * rule.window / rule.limit)
end

local function missing(state, now, rule)
  local elapsed = now - state[1]
  if -elapsed * rule.limit > rule.burst * rule.window then
    return 0
  end
  return max(0, state[2] - max(0, elapsed) * rule.limit)
end

local function retry_after(lack, rule, cost)
  if cost > rule.burst then
    return -1
  end
  return ceil((lack + (cost - rule.burst) * rule.window) / rule.limit)
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local lack = missing(state, now, rule)
  local after = lack + cost * rule.window
  local allowed = cost == 0 or after <= rule.burst * rule.window
  if allowed then
    state[1], state[2], lack = now, after, after
  end
  local remaining = max(0, floor((rule.burst * rule.window - lack) / rule.window))
  return allowed, remaining, ceil(lack / rule.limit), allowed and 0 or retry_after(lack, rule, cost), 0
end

--- Books tokens without asking (amount > 0; the bucket may go into debt), or puts them back (amount < 0).
function M.settle(state, now, rule, amount)
  state[1], state[2] = now, max(0, missing(state, now, rule) + amount * rule.window)
end

return M
