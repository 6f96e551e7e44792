--- Leaky bucket: requests leave one each window/limit; up to `burst` units fit, later ones wait their turn.
--
-- State (array of numbers, all zero when new): the time when the bucket is empty as [1] whole microseconds and
-- [2] a fraction in 1/limit microseconds, so that window/limit never rounds (exact while burst * window < 2^53).
-- The formula: delay = max(0, empty - now); admit when delay + cost * window/limit <= burst * window/limit.
-- Example: limit 60 per 60 s, burst 3: at 0 s three pass with delays of 0, 1 and 2 s, the fourth is rejected.
-- The published pseudocode (Kalyanasundaram et al. 2025, Algorithm 5) lets simultaneous requests leave together (its delay is 0
-- when the clock did not move), and admits capacity + 1 of others, as the one that leaves at once takes no place in its queue.
-- Here two requests never leave closer than window/limit, and burst means burst. The caller sleeps for the delay.
-- A time of emptiness that is ahead by more than two full buckets is of a clock that was set back by more than one: the state
-- begins again.

local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local M = { name = "leaky_bucket", leasable = false }

--- Numbers of state that one key needs.
function M.size()
  return 2
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return ceil(rule.burst * rule.window / rule.limit)
end

-- The work that waits in the bucket, in 1/limit microseconds.
local function level(state, now, rule)
  local work, full = (state[1] - now) * rule.limit + state[2], rule.burst * rule.window
  return work > 2 * full and 0 or min(max(0, work), full)
end

local function fill(state, now, rule, work)
  state[1], state[2] = now + floor(work / rule.limit), work % rule.limit
end

local function retry_after(work, rule, cost)
  if cost > rule.burst then
    return -1
  end
  return ceil((work + (cost - rule.burst) * rule.window) / rule.limit)
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local work, room = level(state, now, rule), rule.burst * rule.window
  local after = work + cost * rule.window
  if cost > 0 and after > room then
    local remaining = max(0, floor((room - work) / rule.window))
    return false, remaining, ceil(work / rule.limit), retry_after(work, rule, cost), 0
  end
  fill(state, now, rule, after)
  return true, max(0, floor((room - after) / rule.window)), ceil(after / rule.limit), 0, ceil(work / rule.limit)
end

return M
