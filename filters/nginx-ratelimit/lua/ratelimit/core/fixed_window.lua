--- Fixed window counter: at most `limit` units between two multiples of `window`.
--
-- State (array of numbers, all zero when new): [1] start of the window, [2] units taken in it.
-- Times are whole microseconds. The formula: start = now - now mod window; admit when taken + cost <= limit.
-- Example: limit 2, window 10 s: requests at 1 s, 2 s pass, 3 s is rejected (retry after 7 s), 10 s passes.
-- Weak point: 2 x limit can pass within an instant around a boundary.
-- A clock that steps back by up to one window stays in the later window, so that no quota is given twice.

local max = math.max

local M = { name = "fixed_window", leasable = true }

--- Numbers of state that one key needs.
function M.size()
  return 2
end

--- Microseconds after the last change when the state equals a new one.
function M.ttl(rule)
  return rule.window
end

local function roll(state, now, rule)
  local start, stored = now - now % rule.window, state[1]
  if start > stored or stored - start > rule.window then
    state[1], state[2] = start, 0
  end
  return state[1], state[2]
end

--- Admits or rejects a request of `cost` units; a rejection takes nothing.
-- @return allowed, remaining (units), reset, retry_after (-1: never), delay (microseconds)
function M.decide(state, now, rule, cost)
  local start, taken = roll(state, now, rule)
  local reset = start + rule.window - now
  if taken + cost <= rule.limit or cost == 0 then
    state[2] = taken + cost
    return true, max(0, rule.limit - taken - cost), reset, 0, 0
  end
  return false, max(0, rule.limit - taken), reset, cost > rule.limit and -1 or reset, 0
end

--- Books units without asking (amount > 0), or gives back what was taken at `at` (amount < 0).
function M.settle(state, now, rule, amount, at)
  local start, taken = roll(state, now, rule)
  if amount > 0 or at >= start then
    state[2] = max(0, taken + amount)
  end
end

return M
