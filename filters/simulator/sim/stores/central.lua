--- One state for all balancers, changed atomically: what Redis or MariaDB do.

local cores = require("ratelimit.core")
local verbs = require("ratelimit.core.verbs")
local states = require("sim.states")

local M = {}
M.__index = M

function M.new(rule)
  local core = cores[rule.algorithm]
  return setmetatable({ core = core, rule = rule, state = states.new(core, rule) }, M)
end

--- Asks as the filter asks a store.
-- @return allowed, remaining, reset, retry_after, delay, granted
function M:ask(_, verb, now, amount, share, at)
  return verbs[verb](self.core, self.state, now, self.rule, amount, share, at)
end

return M
