--- States of the filter's core, and booking into them what was decided elsewhere.

local floor, min = math.floor, math.min

local M = {}

--- A new state: as many zeros as the core asks for.
function M.new(core, rule)
  local state = {}
  for i = 1, core.size(rule) do
    state[i] = 0
  end
  return state
end

local roomy_burst = 1e6

-- GCRA and leaky bucket can't book, so they decide by a rule that always has room.
local function roomy(rule)
  rule.roomy = rule.roomy or { limit = rule.limit, window = rule.window, burst = roomy_burst, algorithm = rule.algorithm }
  return rule.roomy
end

--- Books `amount` (negative: gives back) that another balancer took at `at` and that is heard of at `now`.
-- As in the sidecar, a fixed window's units count only in their own window, and a bucket owes at most one burst.
function M.book(core, state, now, rule, amount, at)
  if not core.settle then
    core.decide(state, now, roomy(rule), amount)
  elseif rule.algorithm ~= "fixed_window" or floor(at / rule.window) == floor(now / rule.window) then
    core.settle(state, now, rule, amount, at)
  end
  if rule.algorithm == "token_bucket" then
    state[2] = min(state[2], rule.burst * rule.window)
  end
end

return M
