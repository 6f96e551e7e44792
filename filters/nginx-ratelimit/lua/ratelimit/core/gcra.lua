--- Generic cell rate algorithm: one cell each window/limit, `burst` of them at once.
--
-- State (array of numbers, all zero when new): the theoretical arrival time as [1] whole microseconds and
-- [2] a fraction in 1/limit microseconds, so that window/limit never rounds (exact while burst * window < 2^53).
-- The formula: tat' = max(now, tat) + cost * window/limit; admit when tat' - now <= burst * window/limit.
-- Example: limit 60 per 60 s, burst 2: at 0 s two pass, the third is told to retry after 1 s.
-- The published pseudocode compares tat - burst * window/limit with now and so admits burst + 1; here burst means burst.
-- Admits the same requests as a token bucket of the same burst; after a step back of the clock it
-- assumes no more than an empty bucket. A time of arrival that is ahead by more than two full buckets is of a clock that was
-- set back by more than one: the state begins again.

local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local M = { name = "gcra", leasable = false }

--- Numbers of state that one key needs.
function M.size()
  return 2
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return ceil(rule.burst * rule.window / rule.limit)
end

-- How far the theoretical arrival time lies ahead of now, in 1/limit microseconds.
local function backlog(state, now, rule)
  local ahead, full = (state[1] - now) * rule.limit + state[2], rule.burst * rule.window
  return ahead > 2 * full and 0 or min(max(0, ahead), full)
end

local function advance(state, now, rule, ahead)
  state[1], state[2] = now + floor(ahead / rule.limit), ahead % rule.limit
end

local function retry_after(ahead, rule, cost)
  if cost > rule.burst then
    return -1
  end
  return ceil((ahead + (cost - rule.burst) * rule.window) / rule.limit)
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local ahead, room = backlog(state, now, rule), rule.burst * rule.window
  local allowed = cost == 0 or ahead + cost * rule.window <= room
  local wait = allowed and 0 or retry_after(ahead, rule, cost)
  if allowed then
    ahead = ahead + cost * rule.window
    advance(state, now, rule, ahead)
  end
  return allowed, max(0, floor((room - ahead) / rule.window)), ceil(ahead / rule.limit), wait, 0
end

return M
