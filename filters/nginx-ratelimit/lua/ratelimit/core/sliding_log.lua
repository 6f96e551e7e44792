--- Sliding window log: remembers every admission; at most `limit` units in any stretch of `window`.
--
-- State (array of numbers, all zero when new): [1] place of the oldest entry in the ring, [2] entries, [3] sum of their costs,
-- [4] places in the ring, then a pair for each place: time at [5 + 2 * place], and at [6 + 2 * place] the running total of
-- costs up to and with this entry. Both only grow along the ring, so what expires and whom to wait for is found by halving:
-- some twenty numbers are looked at, however long the log is.
-- The formula: forget entries of age >= window; admit when sum + cost <= limit.
-- Example: limit 2, window 10 s: requests at 1 s, 2 s pass, 3 s is rejected (retry after 8 s), 11 s passes.
-- The published pseudocode (Kalyanasundaram et al. 2025, Algorithm 2) removes what is older than the window, so an entry of
-- exactly that age still counts: at 11 s it rejects.
-- Two requests in one microsecond are two entries' worth: they share an entry whose cost is 2.
-- A clock that steps back by up to one window reads as the time of the newest entry.
-- A ring that has become too small for a raised limit grows when it is full; one that has become too large stays as it is.

local floor, max, min = math.floor, math.max, math.min

local M = { name = "sliding_window_log", leasable = true }

local heading = 4
-- To give back a cost, the totals of all later entries change. Beyond this many it stays booked until it expires.
local most_changed = 1000

--- Numbers of state that one key needs.
function M.size(rule)
  return heading + 2 * rule.limit
end

--- Numbers that a state has, which may be one of another limit.
function M.stored(state)
  return heading + 2 * state[4]
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return rule.window
end

-- Index of the time of the entry that is `nth` from the oldest (0); the running total stands one further.
local function place(state, nth)
  return heading + 1 + 2 * ((state[1] + nth) % state[4])
end

-- The first entry whose time (`offset` 0) or running total (1) is above `bound`; the number of entries when none is.
-- Steps that double from the oldest, where it mostly is, then halves.
local function first_above(state, offset, bound)
  local low, high, step, entries = 0, 0, 1, state[2]
  while high < entries and state[place(state, high) + offset] <= bound do
    low, high, step = high + 1, high + step, step * 2
  end
  high = min(high, entries)
  while low < high do
    local middle = floor((low + high) / 2)
    if state[place(state, middle) + offset] <= bound then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local function newest_total(state)
  return state[place(state, state[2] - 1) + 1]
end

local function steady_clock(state, now, rule)
  if state[2] == 0 then
    return now
  end
  local newest = state[place(state, state[2] - 1)]
  if newest - now > rule.window then
    state[1], state[2], state[3] = 0, 0, 0
    return now
  end
  return max(now, newest)
end

local function forget(state, now, rule)
  local gone = first_above(state, 0, now - rule.window)
  if gone == 0 then
    return
  end
  state[3] = newest_total(state) - state[place(state, gone - 1) + 1]
  local left = state[2] - gone
  state[1], state[2] = left > 0 and (state[1] + gone) % state[4] or 0, left
end

-- Makes a full ring as large as the limit, at least twice what it was: what had gone round its end continues behind it.
local function grow(state, rule)
  local old = state[4]
  if old >= rule.limit then
    return
  end
  local first, behind = heading + 1, heading + 1 + 2 * old
  for i = 0, 2 * state[1] - 1 do
    state[behind + i] = state[first + i]
  end
  state[4] = max(rule.limit, 2 * old)
end

-- Adds to the newest entry when it has the same time or the ring is full (only after `settle`), else appends.
local function append(state, now, rule, cost)
  local entries = state[2]
  if entries == state[4] then
    grow(state, rule)
  end
  local newest = entries > 0 and place(state, entries - 1)
  local total = (newest and state[newest + 1] or 0) + cost
  local at = newest
  if not newest or state[newest] ~= now and entries < state[4] then
    at, state[2] = place(state, entries), entries + 1
  end
  state[at], state[at + 1], state[3] = now, total, state[3] + cost
end

local function retry_after(state, now, rule, cost)
  if cost > rule.limit then
    return -1
  end
  local nth = first_above(state, 1, newest_total(state) + cost - rule.limit - 1)
  return state[place(state, nth)] + rule.window - now
end

local function reset(state, now, rule)
  return state[2] == 0 and 0 or state[place(state, state[2] - 1)] + rule.window - now
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local time = steady_clock(state, now, rule)
  forget(state, time, rule)
  local allowed = cost == 0 or state[3] + cost <= rule.limit
  if allowed and cost > 0 then
    append(state, time, rule, cost)
  end
  local wait = allowed and 0 or retry_after(state, now, rule, cost)
  return allowed, max(0, rule.limit - state[3]), reset(state, now, rule), wait, 0
end

local function cost_of(state, nth)
  local before = nth > 0 and state[place(state, nth - 1) + 1] or newest_total(state) - state[3]
  return state[place(state, nth) + 1] - before
end

local function give_back(state, amount, at)
  local nth, entries = first_above(state, 0, at - 1), state[2]
  if nth == entries or state[place(state, nth)] ~= at or entries - nth > most_changed then
    return
  end
  local back = min(amount, cost_of(state, nth))
  for i = nth, entries - 1 do
    local total = place(state, i) + 1
    state[total] = state[total] - back
  end
  state[3] = state[3] - back
end

--- Books units without asking (amount > 0), or gives back what was taken at `at` (amount < 0).
function M.settle(state, now, rule, amount, at)
  local time = steady_clock(state, now, rule)
  forget(state, time, rule)
  if amount > 0 then
    return append(state, time, rule, amount)
  end
  give_back(state, -amount, at)
end

return M
