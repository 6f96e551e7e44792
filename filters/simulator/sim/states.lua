--- States of the filter's core, and booking into them what was decided elsewhere.

local floor, min = math.floor, math.min

local M = {}

--- A new state: as many zeros as the core asks for.
function M.new(core, plan)
  local state = {}
  for i = 1, core.size(plan) do
    state[i] = 0
  end
  return state
end

local roomy_burst = 1e6

-- GCRA and leaky bucket can't book, so they decide by a plan that always has room.
local function roomy(plan)
  plan.roomy = plan.roomy or { limit = plan.limit, window = plan.window, burst = roomy_burst, algorithm = plan.algorithm }
  return plan.roomy
end

--- Books `amount` (negative: gives back) that another balancer took at `at` and that is heard of at `now`.
-- As in the sidecar, a fixed window's units count only in their own window, and a bucket owes at most one burst.
function M.book(core, state, now, plan, amount, at)
  if not core.settle then
    core.decide(state, now, roomy(plan), amount)
  elseif plan.algorithm ~= "fixed_window" or floor(at / plan.window) == floor(now / plan.window) then
    core.settle(state, now, plan, amount, at)
  end
  if plan.algorithm == "token_bucket" then
    state[2] = min(state[2], plan.burst * plan.window)
  end
end

return M
