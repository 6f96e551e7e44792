--- Runs leases: one batch in flight for a key, the others wait for it; expired batches are settled on a timer.
--
-- A lease is held by one worker, in its own memory, or by all workers of a balancer together, in shared memory. There the worker
-- that fetched a batch last settles it.

local semaphore = require("ngx.semaphore")
local asking = require("ratelimit.asking")
local clock = require("ratelimit.clock")
local leases = require("ratelimit.leases")
local metrics = require("ratelimit.metrics")
local shared = require("ratelimit.shared_leases")

local M = {}

local most_keys = 50000
local settled_together = 50
local patience = 0.05
local look_again = 0.002

local function outcome(lease, now)
  return {
    allowed = true,
    remaining = math.max(0, lease.credits + lease.beyond),
    reset = math.max(0, lease.reset_at - now),
    retry_after = 0,
    delay = 0,
    time = clock.now(),
    by = "lease",
    lease = lease,
  }
end

local function rejection(lease, now)
  return {
    allowed = false,
    remaining = 0,
    reset = math.max(0, lease.reset_at - now),
    retry_after = math.max(1, lease.denied_until - now),
    delay = 0,
    time = clock.now(),
    by = "lease",
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

-- What a lease still owes the store, as a request; nil when nothing.
local function debt(lease, now)
  local verb, amount = leases.settle(lease, now, lease.limit)
  return verb and { key = lease.key, limit = lease.limit, verb = verb, amount = amount, at = lease.at, binding = false }
end

-- What to tell and to ask the store for a new batch: what an expired one owes, a verb and an amount.
local function wanting(lease, subject)
  local now, mode = clock.steady(), subject.limit.lease.mode
  local owed = mode == "eager" and now >= lease.expires and debt(lease, now) or nil
  local verb, amount = leases.request(lease, now, subject.limit, subject.cost)
  return { owed = owed, verb = verb, amount = amount }
end

local function ask_store(subject, wanted)
  local limit = subject.limit
  if wanted.owed then
    tell({ wanted.owed })
  end
  return asking.ask(limit.store, {
    {
      key = subject.key,
      limit = limit,
      verb = wanted.verb,
      amount = wanted.amount,
      share = limit.lease.share,
      binding = false,
    },
  })
end

local function take_in(lease, subject, wanted, answers)
  local now, limit = clock.steady(), subject.limit
  leases.fill(lease, now, limit, answers[1], wanted.amount, answers.time)
  remember(lease, now, answers[1])
  metrics.add(metrics.series("ratelimit_lease_batches_total", "limit", limit.name, "mode", limit.lease.mode))
end

local function use(lease, subject)
  local now = clock.steady()
  if leases.take(lease, now, subject.cost) then
    return outcome(lease, now)
  elseif (lease.denied_until or 0) > now and lease.credits < 1 then
    return rejection(lease, now)
  end
end

-- Held by one worker. ------------------------------------------------------------------------------------------------

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

local function fetch(lease, subject)
  local wanted = wanting(lease, subject)
  local answers, err = ask_store(subject, wanted)
  if not answers then
    return nil, err
  end
  take_in(lease, subject, wanted, answers)
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

local function decide_in_worker(subject)
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

local function owed_in_worker(now, all)
  local debts = {}
  for key, lease in pairs(held) do
    local is_over = now >= lease.expires and now >= (lease.denied_until or 0)
    if (all or is_over) and not lease.waiting then
      debts[#debts + 1] = debt(lease, now)
      held[key], count = nil, count - 1
    end
  end
  return debts
end

-- Held by a balancer. ------------------------------------------------------------------------------------------------

-- When this worker looks at what it fetched, by key.
local due, dues = {}, 0

local function look_at(key, limit, moment)
  dues = due[key] and dues or dues + 1
  due[key] = { limit = limit, at = moment }
end

-- Under the lock: what the lease decides; or what to ask for a new batch, which this worker then fetches; or nothing, while
-- another one does.
local function decide_or_want(subject)
  return function(lease)
    local found, now = use(lease, subject), clock.steady()
    if found then
      return { found = found }
    elseif lease.fetching_until > now then
      lease.served = lease.served - subject.cost -- it comes again
      return {}
    end
    lease.fetching_until = now + patience * 1e6
    return { wanted = wanting(lease, subject) }
  end
end

local function fetch_for_all(subject, wanted)
  local key, limit = subject.key, subject.limit
  look_at(key, limit, clock.steady() + limit.lease.expires)
  local ok, answers, err = pcall(ask_store, subject, wanted)
  answers, err = ok and answers or nil, ok and err or answers
  local found = shared.change(key, limit, function(lease)
    lease.fetching_until = 0
    if answers then
      take_in(lease, subject, wanted, answers)
      look_at(key, limit, lease.expires)
      return use(lease, subject)
    end
  end)
  return found, not answers and err or nil
end

local function decide_in_balancer(subject)
  local deadline = clock.steady() + patience * 1e6
  repeat
    local said = dues < most_keys and shared.change(subject.key, subject.limit, decide_or_want(subject))
    if not said then
      return nil
    elseif said.found then
      return said.found
    elseif said.wanted then
      return fetch_for_all(subject, said.wanted)
    end
    ngx.sleep(look_again)
  until clock.steady() >= deadline
  return nil
end

-- Under the lock: what is owed, unless another worker has fetched since, or does so now.
local function settle_if_over(now, all)
  return function(lease)
    if lease.fetching_until <= now and (all or now >= lease.expires) then
      return debt(lease, now)
    end
  end
end

local function due_at(now, all)
  local list = {}
  for key, entry in pairs(due) do
    if all or now >= entry.at then
      list[#list + 1] = { key = key, limit = entry.limit }
    end
  end
  return list
end

local function owed_in_balancer(now, all, debts)
  for _, entry in ipairs(due_at(now, all)) do
    due[entry.key], dues = nil, dues - 1
    debts[#debts + 1] = shared.change(entry.key, entry.limit, settle_if_over(now, all))
  end
  return debts
end

-- Both. --------------------------------------------------------------------------------------------------------------

--- Decides from the lease of a subject, taking a new batch when needed.
-- @return an outcome; or nil when the store must be asked for this request alone; or nil and a reason when the store failed
function M.decide(subject)
  if subject.limit.lease.holder == "balancer" then
    return decide_in_balancer(subject)
  end
  return decide_in_worker(subject)
end

--- Undoes a decision of the lease, when another limit rejected the request.
function M.put_back(found, cost)
  local lease = found.lease
  if not lease.is_shared then
    return leases.put_back(lease, cost)
  end
  shared.change(lease.key, lease.limit, function(now_there)
    leases.put_back(now_there, cost)
  end)
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
  local now = clock.steady()
  for _, batch in ipairs(by_store(owed_in_balancer(now, all, owed_in_worker(now, all)))) do
    tell(batch)
  end
end

return M
