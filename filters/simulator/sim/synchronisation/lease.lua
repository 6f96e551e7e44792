--- Every balancer decides from a lease, with the filter's own lease code; `asked` counts the requests that waited for the store.
--
-- What nginx does on a timer is done here at the first request of the client after it was due.

local leases = require("ratelimit.leases")

local huge, min = math.huge, math.min

local M = {}
M.__index = M

function M.new(store, plan, scenario)
  local held = {}
  for balancer = 1, scenario.balancers do
    held[balancer] = leases.new(0)
    held[balancer].denied_until = 0
  end
  return setmetatable({ store = store, limit = plan, held = held, asked = 0, next_end = huge }, M)
end

local function settle(self, balancer, lease, now)
  local verb, amount = leases.settle(lease, now, self.limit)
  if verb then
    self.store:ask(balancer, verb, now, amount, 1, lease.at)
  end
end

local function settle_expired(self, now)
  self.next_end = huge
  for balancer, lease in ipairs(self.held) do
    if lease.expires > 0 and now >= lease.expires then
      settle(self, balancer, lease, now)
    elseif lease.expires > 0 then
      self.next_end = min(self.next_end, lease.expires)
    end
  end
end

local function fetch(self, balancer, lease, now, cost)
  local verb, amount = leases.request(lease, now, self.limit, cost)
  local allowed, remaining, reset, retry_after, _, granted =
    self.store:ask(balancer, verb, now, amount, self.limit.lease.share)
  local answer = { allowed = allowed, remaining = remaining, reset = reset, granted = granted }
  leases.fill(lease, now, self.limit, answer, amount, now)
  lease.denied_until = allowed and 0 or now + retry_after
  self.next_end = min(self.next_end, lease.expires)
  self.asked = self.asked + 1
end

--- @return whether the request passes
function M:decide(now, balancer, cost)
  if now >= self.next_end then
    settle_expired(self, now)
  end
  local lease = self.held[balancer]
  if leases.take(lease, now, cost) then
    return true
  elseif lease.denied_until > now and lease.credits < 1 then
    return false
  end
  fetch(self, balancer, lease, now, cost)
  return leases.take(lease, now, cost)
end

return M
