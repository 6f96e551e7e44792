--- Every balancer enforces its share of the limit and asks nobody: limit / balancers, at least one.

local central = require("sim.stores.central")

local floor, max = math.floor, math.max

local M = {}
M.__index = M

local function shared(rule, balancers)
  return {
    algorithm = rule.algorithm,
    window = rule.window,
    sub_windows = rule.sub_windows,
    limit = max(1, floor(rule.limit / balancers)),
    burst = max(1, floor(rule.burst / balancers)),
  }
end

function M.new(_, rule, scenario)
  local stores, mine = {}, shared(rule, scenario.balancers)
  for balancer = 1, scenario.balancers do
    stores[balancer] = central.new(mine)
  end
  return setmetatable({ stores = stores, asked = 0 }, M)
end

--- @return whether the request passes
function M:decide(now, balancer, cost)
  return (self.stores[balancer]:ask(balancer, "take", now, cost))
end

return M
