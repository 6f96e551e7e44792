--- Sliding window counter: counts per sub-window, the oldest weighted by how much of it the window still covers.
--
-- State (array of numbers, all zero when new): [1] index of the current sub-window, then a ring of sub_windows + 1 counts,
-- the count of sub-window i at [2 + i mod (sub_windows + 1)]. A sub-window lasts ceil(window / sub_windows) microseconds.
-- The formula: estimate = newest `sub_windows` counts + oldest * (1 - elapsed/sub); admit when estimate + cost <= limit.
-- Example: limit 10, window 10 s, one sub-window, 10 taken at 9 s: at 15 s the estimate is 5, so five pass.
-- The published pseudocode asks estimate < limit and so passes the limit by a fraction; here estimate + cost <= limit.
-- A clock that steps back by up to one window stays in the later sub-window.

local ceil, floor, max = math.ceil, math.floor, math.max

local M = { name = "sliding_window_counter", leasable = true }

--- Numbers of state that one key needs.
function M.size(rule)
  return rule.sub_windows + 2
end

local function sub_length(rule)
  return ceil(rule.window / rule.sub_windows)
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return sub_length(rule) * (rule.sub_windows + 1)
end

local function slot(rule, index)
  return 2 + index % (rule.sub_windows + 1)
end

local function roll(state, now, rule)
  local index, stored, ring = floor(now / sub_length(rule)), state[1], rule.sub_windows + 1
  if stored > index and stored - index <= rule.sub_windows then
    return stored
  end
  local first = (index - stored >= ring or index < stored) and index - ring + 1 or stored + 1
  for i = first, index do
    state[slot(rule, i)] = 0
  end
  state[1] = index
  return index
end

-- Units in the sub-windows that the window covers whole, and in the oldest one, for a window that ends in `index` + `step`.
local function counts(state, rule, index, step)
  local whole = 0
  for i = index - rule.sub_windows + step + 1, index do
    whole = whole + state[slot(rule, i)]
  end
  return whole, state[slot(rule, index - rule.sub_windows + step)]
end

local function retry_after(state, now, rule, cost, index)
  local sub = sub_length(rule)
  for step = 0, rule.sub_windows do
    local whole, oldest = counts(state, rule, index, step)
    local room = rule.limit - cost - whole
    if room >= 0 then
      local elapsed = oldest > room and ceil(sub * (oldest - room) / oldest) or 0
      return max(1, (index + step) * sub + elapsed - now)
    end
  end
  return -1
end

local function reset(state, now, rule, index)
  for i = index, index - rule.sub_windows, -1 do
    if state[slot(rule, i)] > 0 then
      return (i + rule.sub_windows + 1) * sub_length(rule) - now
    end
  end
  return 0
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local index, sub = roll(state, now, rule), sub_length(rule)
  local whole, oldest = counts(state, rule, index, 0)
  local room = (rule.limit - whole) * sub - oldest * (sub - max(0, now - index * sub))
  local allowed = cost == 0 or cost * sub <= room
  if allowed then
    state[slot(rule, index)] = state[slot(rule, index)] + cost
    room = room - cost * sub
  end
  local wait = allowed and 0 or retry_after(state, now, rule, cost, index)
  return allowed, max(0, floor(room / sub)), reset(state, now, rule, index), wait, 0
end

--- Books units without asking (amount > 0), or gives back what was taken at `at` (amount < 0).
function M.settle(state, now, rule, amount, at)
  local index = roll(state, now, rule)
  local from = amount > 0 and index or floor(at / sub_length(rule))
  if from <= index and index - from <= rule.sub_windows then
    state[slot(rule, from)] = max(0, state[slot(rule, from)] + amount)
  end
end

return M
