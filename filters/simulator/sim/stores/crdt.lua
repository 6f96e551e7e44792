--- A copy of the state at every balancer; what one grants the others hear at the end of a dissemination interval.
--
-- A stand-in for the gossip sidecar, with the filter's own cores: what is heard is booked at the moment of hearing, up to one
-- staleness late (the sidecar books at the moment of granting). Counts are never lost.

local cores = require("ratelimit.core")
local states = require("sim.states")
local verbs = require("ratelimit.core.verbs")

local ceil, floor = math.ceil, math.floor

local M = {}
M.__index = M

function M.new(rule, scenario, stream)
  local core, copies = cores[rule.algorithm], {}
  for balancer = 1, scenario.balancers do
    copies[balancer] = states.new(core, rule)
  end
  return setmetatable({
    core = core,
    rule = rule,
    copies = copies,
    interval = scenario.staleness_us,
    phase = floor(stream:uniform() * scenario.staleness_us),
    news = {},
    first = 1,
    last = 0,
  }, M)
end

-- Intervals end at moments that have nothing to do with where windows begin.
local function heard_at(self, at)
  return self.interval == 0 and at or ceil((at - self.phase) / self.interval) * self.interval + self.phase
end

-- What a refund gives back was booked by the others when they heard of it.
local function tell(self, from, now, amount, at)
  self.last = self.last + 1
  self.news[self.last] = { from = from, due = heard_at(self, now), amount = amount, at = at and heard_at(self, at) or now }
end

local function hear(self, now)
  while self.first <= self.last and self.news[self.first].due <= now do
    local each = self.news[self.first]
    for balancer, state in ipairs(self.copies) do
      if balancer ~= each.from then
        states.book(self.core, state, each.due, self.rule, each.amount, each.at)
      end
    end
    self.news[self.first] = nil
    self.first = self.first + 1
  end
end

--- Asks the copy next to a balancer, as the filter asks a store.
-- @return allowed, remaining, reset, retry_after, delay, granted
function M:ask(balancer, verb, now, amount, share, at)
  hear(self, now)
  local allowed, remaining, reset, retry_after, delay, granted =
    verbs[verb](self.core, self.copies[balancer], now, self.rule, amount, share, at)
  local counted = verb == "report" and amount or granted
  if counted > 0 then
    tell(self, balancer, now, counted)
  elseif verb == "refund" and amount > 0 then
    tell(self, balancer, now, -amount, at)
  end
  if self.interval == 0 then
    hear(self, now)
  end
  return allowed, remaining, reset, retry_after, delay, granted
end

return M
