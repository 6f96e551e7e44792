--- Leaky bucket: requests leave one each window/limit; up to `burst` units fit, later ones wait their turn.
--
-- State (array of numbers, all zero when new): the time when the bucket is empty as [1] whole microseconds and
-- [2] a fraction in 1/limit microseconds, so that window/limit never rounds (exact while burst * window < 2^53).
-- The formula: delay = max(0, empty - now); admit when delay + cost * window/limit <= burst * window/limit.
-- Example: limit 60 per 60 s, burst 3: at 0 s three pass with delays of 0, 1 and 2 s, the fourth is rejected.
-- The published pseudocode lets simultaneous requests leave together (its delay is 0 when the clock did not move);
-- here two requests never leave closer than window/limit. The caller sleeps for the delay.

local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local M = { name = "leaky_bucket", leasable = false }

--- Numbers of state that one key needs.
function M.size()
  return 2
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(plan)
  return ceil(plan.burst * plan.window / plan.limit)
end

-- The work that waits in the bucket, in 1/limit microseconds.
local function level(state, now, plan)
  return min(max(0, (state[1] - now) * plan.limit + state[2]), plan.burst * plan.window)
end

local function fill(state, now, plan, work)
  state[1], state[2] = now + floor(work / plan.limit), work % plan.limit
end

local function retry_after(work, plan, cost)
  if cost > plan.burst then
    return -1
  end
  return ceil((work + (cost - plan.burst) * plan.window) / plan.limit)
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, plan, cost)
  local work, room = level(state, now, plan), plan.burst * plan.window
  local after = work + cost * plan.window
  if cost > 0 and after > room then
    local remaining = max(0, floor((room - work) / plan.window))
    return false, remaining, ceil(work / plan.limit), retry_after(work, plan, cost), 0
  end
  fill(state, now, plan, after)
  return true, max(0, floor((room - after) / plan.window)), ceil(after / plan.limit), 0, ceil(work / plan.limit)
end

return M
