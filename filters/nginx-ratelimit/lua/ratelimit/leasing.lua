--- Runs leases in a worker: one batch in flight per key, the others wait for it; expired batches are settled on a timer.

local semaphore = require("ngx.semaphore")
local asking = require("ratelimit.asking")
local clock = require("ratelimit.clock")
local leases = require("ratelimit.leases")
local metrics = require("ratelimit.metrics")

local M = {}

local most_keys = 50000
local settled_together = 50
local patience = 0.05

local held, count = {}, 0

local function find(subject, now)
  local lease = held[subject.key]
  if not lease and count < most_keys then
    lease = leases.new(now)
    lease.key, lease.limit = subject.key, subject.limit
    held[subject.key], count = lease, count + 1
  end
  return lease
end

local function outcome(lease, now)
  return {
    allowed = true, remaining = math.max(0, lease.credits + lease.beyond), reset = math.max(0, lease.reset_at - now),
    retry_after = 0, delay = 0, time = clock.now(), by = "lease", lease = lease,
  }
end

local function rejection(lease, now)
  return {
    allowed = false, remaining = 0, reset = math.max(0, lease.reset_at - now),
    retry_after = math.max(1, lease.denied_until - now), delay = 0, time = clock.now(), by = "lease",
  }
end

local function remember(lease, now, answer)
  lease.reset_at = now + answer.reset
  lease.beyond = lease.limit.lease.mode == "lazy" and answer.remaining - lease.credits or answer.remaining
  lease.denied_until = answer.allowed and 0 or now + answer.retry_after
end

local function tell(requests)
  for _, request in ipairs(requests) do
    metrics.add(metrics.series("ratelimit_lease_settled_total", "limit", request.limit.name, "verb", request.verb))
  end
  return asking.ask(requests[1].limit.store, requests)
end

-- What an expired lease still owes the store, as a request; nil when nothing.
local function debt(lease, now)
  if now < lease.expires then
    return nil
  end
  local verb, amount = leases.settle(lease, now, lease.limit)
  return verb and { key = lease.key, limit = lease.limit, verb = verb, amount = amount, at = lease.at, binding = false }
end

local function fetch(lease, subject)
  local now = clock.steady()
  local owed = subject.limit.lease.mode == "eager" and debt(lease, now)
  if owed then
    tell({ owed })
  end
  local verb, amount = leases.request(lease, now, subject.limit, subject.cost)
  local answers, err = asking.ask(subject.limit.store, { {
    key = subject.key, limit = subject.limit, verb = verb, amount = amount, share = subject.limit.lease.share, binding = false,
  } })
  if not answers then
    return nil, err
  end
  now = clock.steady()
  leases.fill(lease, now, subject.limit, answers[1], amount, answers.time)
  remember(lease, now, answers[1])
  metrics.add(metrics.series("ratelimit_lease_batches_total", "limit", subject.limit.name, "mode", subject.limit.lease.mode))
  return true
end

local function fetch_alone(lease, subject)
  lease.waiting = semaphore.new()
  local ok, done, err = pcall(fetch, lease, subject)
  local waiting = lease.waiting
  lease.waiting = nil
  waiting:post(math.max(1, -waiting:count()))
  return ok and done, ok and err or done
end

local function use(lease, subject)
  local now = clock.steady()
  if leases.take(lease, now, subject.cost) then
    return outcome(lease, now)
  elseif (lease.denied_until or 0) > now and lease.credits < 1 then
    return rejection(lease, now)
  end
end

--- Decides from the lease of a subject, taking a new batch when needed.
-- @return an outcome; or nil when the store must be asked for this request alone; or nil and a reason when the store failed
function M.decide(subject)
  local lease = find(subject, clock.steady())
  if not lease then
    return nil
  end
  local found = use(lease, subject)
  if found then
    return found
  end
  if lease.waiting then
    lease.waiting:wait(patience)
  else
    local ok, err = fetch_alone(lease, subject)
    if not ok then
      return nil, err
    end
  end
  return use(lease, subject)
end

--- Undoes a decision of the lease, when another limit rejected the request.
function M.put_back(found, cost)
  leases.put_back(found.lease, cost)
end

local function owed_by_expired(now)
  local debts = {}
  for key, lease in pairs(held) do
    if now >= lease.expires and not lease.waiting and now >= (lease.denied_until or 0) then
      debts[#debts + 1] = debt(lease, now)
      held[key], count = nil, count - 1
    end
  end
  return debts
end

local function by_store(debts)
  local batches, open = {}, {}
  for _, each in ipairs(debts) do
    local batch = open[each.limit.store]
    if not batch or #batch >= settled_together then
      batch = {}
      open[each.limit.store], batches[#batches + 1] = batch, batch
    end
    batch[#batch + 1] = each
  end
  return batches
end

--- Settles what has expired; `all` also settles what has not (the worker ends).
function M.sweep(all)
  local now = all and math.huge or clock.steady()
  for _, batch in ipairs(by_store(owed_by_expired(now))) do
    tell(batch)
  end
end

return M
