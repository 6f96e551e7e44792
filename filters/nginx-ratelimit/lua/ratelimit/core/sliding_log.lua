--- Sliding window log: remembers every admission; at most `limit` units in any stretch of `window`.
--
-- State (array of numbers, all zero when new): [1] place of the oldest entry in the ring, [2] entries, [3] sum of costs,
-- then a ring of `limit` pairs: time at [4 + 2 * place], cost at [5 + 2 * place].
-- The formula: forget entries of age >= window; admit when sum + cost <= limit. Work per decision is constant on average.
-- Example: limit 2, window 10 s: requests at 1 s, 2 s pass, 3 s is rejected (retry after 8 s), 11 s passes.
-- Two requests in one microsecond are two entries' worth: they share an entry whose cost is 2.
-- A clock that steps back by up to one window reads as the time of the newest entry.

local max, min = math.max, math.min

local M = { name = "sliding_window_log", leasable = true }

--- Numbers of state that one key needs.
function M.size(plan)
  return 3 + 2 * plan.limit
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(plan)
  return plan.window
end

-- Index of the time of the entry that is `nth` from the oldest (0); its cost stands one further.
local function place(state, plan, nth)
  return 4 + 2 * ((state[1] + nth) % plan.limit)
end

local function steady_clock(state, now, plan)
  if state[2] == 0 then
    return now
  end
  local newest = state[place(state, plan, state[2] - 1)]
  if newest - now > plan.window then
    state[1], state[2], state[3] = 0, 0, 0
    return now
  end
  return max(now, newest)
end

local function forget(state, now, plan)
  local head, entries, sum = state[1], state[2], state[3]
  while entries > 0 and now - state[4 + 2 * head] >= plan.window do
    sum = sum - state[5 + 2 * head]
    head, entries = (head + 1) % plan.limit, entries - 1
  end
  state[1], state[2], state[3] = head, entries, sum
end

-- Adds to the newest entry when it has the same time or the ring is full (only after `settle`), else appends.
local function append(state, now, plan, cost)
  local entries = state[2]
  local newest = entries > 0 and place(state, plan, entries - 1)
  if newest and (state[newest] == now or entries == plan.limit) then
    state[newest], state[newest + 1] = now, state[newest + 1] + cost
  else
    local at = place(state, plan, entries)
    state[at], state[at + 1], state[2] = now, cost, entries + 1
  end
  state[3] = state[3] + cost
end

local function retry_after(state, now, plan, cost)
  local sum = state[3]
  for nth = 0, state[2] - 1 do
    local at = place(state, plan, nth)
    sum = sum - state[at + 1]
    if sum + cost <= plan.limit then
      return state[at] + plan.window - now
    end
  end
  return -1
end

local function reset(state, now, plan)
  return state[2] == 0 and 0 or state[place(state, plan, state[2] - 1)] + plan.window - now
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, plan, cost)
  local time = steady_clock(state, now, plan)
  forget(state, time, plan)
  local allowed = cost == 0 or state[3] + cost <= plan.limit
  if allowed and cost > 0 then
    append(state, time, plan, cost)
  end
  local wait = allowed and 0 or retry_after(state, now, plan, cost)
  return allowed, max(0, plan.limit - state[3]), reset(state, now, plan), wait, 0
end

--- Books units without asking (amount > 0), or gives back what was taken at `at` (amount < 0).
function M.settle(state, now, plan, amount, at)
  local time = steady_clock(state, now, plan)
  forget(state, time, plan)
  if amount > 0 then
    return append(state, time, plan, amount)
  end
  local left = -amount
  for nth = state[2] - 1, 0, -1 do
    local entry = place(state, plan, nth)
    local back = state[entry] == at and min(left, state[entry + 1]) or 0
    state[entry + 1], state[3], left = state[entry + 1] - back, state[3] - back, left - back
  end
end

return M
