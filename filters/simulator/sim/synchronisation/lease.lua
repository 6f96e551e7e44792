--- Every balancer decides from a lease, with the filter's own lease code; `asked` counts the requests that waited for the store.
--
-- What nginx does on a timer is done here before the client's first request after it was due, at the time of the timer. With
-- `workers` (1 when absent) requests come to the workers of the balancers: 1 to `workers` are those of the first. Each worker
-- holds its own lease, or all of a balancer hold one together (the lease's `holder`).
-- A request's time is its balancer's when the answer was there; the store booked it `booked_before_us` (least and most) earlier.

local leases = require("ratelimit.leases")

local ceil, floor, huge, min = math.ceil, math.floor, math.huge, math.min

local M = {}
M.__index = M

--- How often nginx looks for expired leases (microseconds).
local sweep = 100000
local at_once = { 0, 0 }

function M.new(store, rule, scenario, stream)
  local held, workers = {}, scenario.workers or 1
  local sharing = rule.lease.holder == "balancer" and workers or 1
  for holder = 1, ceil(scenario.balancers / sharing) do
    held[holder] = leases.new(0)
  end
  return setmetatable({
    store = store,
    limit = rule,
    held = held,
    sharing = sharing,
    per_balancer = workers / sharing,
    asked = 0,
    next_end = huge,
    stream = stream,
    before = scenario.booked_before_us or at_once,
    booked = 0,
  }, M)
end

local function ask(self, holder, verb, now, ...)
  local least, most = self.before[1], self.before[2]
  self.booked = now - least - floor((most - least) * self.stream:uniform())
  return self.store:ask(ceil(holder / self.per_balancer), verb, self.booked, ...)
end

local function settle(self, holder, lease, now)
  local verb, amount = leases.settle(lease, now, self.limit)
  if verb then
    ask(self, holder, verb, now, amount, 1, lease.at)
    leases.told(lease, verb, amount)
  end
end

local function due(lease)
  return ceil(lease.expires / sweep) * sweep
end

-- Settles what is due at one look of nginx; the next look is when the next lease is due.
local function settle_due(self, now)
  self.next_end = huge
  for holder, lease in ipairs(self.held) do
    if lease.expires > 0 and due(lease) <= now then
      settle(self, holder, lease, now)
    elseif lease.expires > 0 then
      self.next_end = min(self.next_end, due(lease))
    end
  end
end

local function fetch(self, holder, lease, now, cost)
  if self.limit.lease.mode == "eager" and lease.expires > 0 and now >= lease.expires then
    settle(self, holder, lease, now)
  end
  local verb, amount = leases.request(lease, now, self.limit, cost)
  local allowed, remaining, reset, retry_after, _, granted = ask(self, holder, verb, now, amount, self.limit.lease.share)
  local answer = { allowed = allowed, remaining = remaining, reset = reset, retry_after = retry_after, granted = granted }
  leases.fill(lease, now, self.limit, answer, amount, self.booked, self.booked)
  self.next_end = min(self.next_end, due(lease))
  self.asked = self.asked + 1
end

--- @return whether the request passes
function M:decide(now, worker, cost)
  local holder = ceil(worker / self.sharing)
  while now >= self.next_end do
    settle_due(self, self.next_end)
  end
  local lease = self.held[holder]
  if leases.take(lease, now, cost) then
    return true
  elseif leases.denies(lease, now, self.limit) then
    return false
  end
  fetch(self, holder, lease, now, cost)
  return leases.take(lease, now, cost)
end

return M
