--- Runs leases: one talk with the store for a key at a time, the others wait for it; expired batches are settled on a timer.
--
-- A lease is held by one worker, in its own memory, or by all workers of a balancer together, in shared memory. There the
-- worker that fetched a batch last settles it, and one that has not come back from the store in time is given up: what it
-- brings later is not used (see `leases` for what this holds to).

local semaphore = require("ngx.semaphore")
local asking = require("ratelimit.asking")
local clock = require("ratelimit.clock")
local leases = require("ratelimit.leases")
local metrics = require("ratelimit.metrics")
local shared = require("ratelimit.shared_leases")

local M = {}

local most_keys = 50000
-- Longer than a store stalls; then a client that has not come again makes room for others.
local longest_doubt = 60e6
-- How long a request waits for a batch before it asks the store for itself alone.
local patience = 50e3
-- Seconds between two looks at a lease of which another worker fetches the batch: at first, and when that takes long.
local look_again, look_seldom = 0.002, 0.016
-- No store has a longer timeout.
local most_talk = 1e6

local function is_lazy(limit)
  return limit.lease.mode == "lazy"
end

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
    talk = lease.talk,
  }
end

local function rejection(lease, now)
  return {
    allowed = false,
    remaining = 0,
    reset = math.max(0, lease.reset_at - now),
    retry_after = math.max(1, lease.retry_at - now),
    delay = 0,
    time = clock.now(),
    by = "lease",
  }
end

local function remember(lease, now, answer)
  lease.reset_at, lease.retry_at = now + answer.reset, now + answer.retry_after
  lease.beyond = is_lazy(lease.limit) and answer.remaining - lease.credits or answer.remaining
end

-- Whether the store has answered.
local function tell(requests, deadlines)
  local answers = asking.ask(requests[1].limit.store, requests, deadlines)
  for _, request in ipairs(answers and requests or {}) do
    metrics.add(metrics.series("ratelimit_lease_settled_total", "limit", request.limit.name, "verb", request.verb))
  end
  return answers ~= nil
end

-- Whether the store answers what takes nothing; nil and a reason when it doesn't.
local function look(key, limit, deadlines)
  return asking.ask(limit.store, { { key = key, limit = limit, verb = "take", amount = 0, binding = false } }, deadlines)
end

-- Tells what leases owe; when the last call of one was not answered, only to a store that answers a look.
local function tell_surely(requests)
  for _, request in ipairs(requests) do
    if request.is_doubted then
      return look(request.key, request.limit) ~= nil and tell(requests)
    end
  end
  return tell(requests)
end

-- What a lease still owes the store, as a request; nil when nothing.
local function debt(lease, now)
  local verb, amount = leases.settle(lease, now, lease.limit)
  return verb
    and {
      key = lease.key,
      limit = lease.limit,
      verb = verb,
      amount = amount,
      at = lease.at,
      counted_until = lease.counted_until,
      is_doubted = leases.is_doubted(lease),
      binding = false,
    }
end

-- What to tell and to ask the store for a new batch: what an expired one owes, a verb and an amount.
local function wanting(lease, subject)
  local now, mode = clock.steady(), subject.limit.lease.mode
  local owed = mode == "eager" and now >= lease.expires and debt(lease, now) or nil
  local verb, amount = leases.request(lease, now, subject.limit, subject.cost)
  return { owed = owed, verb = verb, amount = amount, is_doubted = leases.is_doubted(lease) }
end

local function ask_store(subject, wanted, deadlines)
  local limit = subject.limit
  if wanted.is_doubted then
    local answers, err = look(subject.key, limit, deadlines)
    if not answers then
      return nil, err
    end
  end
  if wanted.owed then
    tell({ wanted.owed }, deadlines)
  end
  wanted.asked = clock.steady()
  return asking.ask(limit.store, {
    {
      key = subject.key,
      limit = limit,
      verb = wanted.verb,
      amount = wanted.amount,
      share = limit.lease.share,
      binding = false,
    },
  }, deadlines)
end

local function take_in(lease, subject, wanted, answers)
  local now, limit = clock.steady(), subject.limit
  leases.fill(lease, now, limit, answers[1], wanted.amount, answers.time, wanted.asked)
  remember(lease, now, answers[1])
  metrics.add(metrics.series("ratelimit_lease_batches_total", "limit", limit.name, "mode", limit.lease.mode))
end

local function use(lease, subject)
  local now = clock.steady()
  if leases.take(lease, now, subject.cost) then
    return outcome(lease, now)
  elseif leases.denies(lease, now, subject.limit) then
    return rejection(lease, now)
  end
end

local function use_or_give_up(lease, subject)
  local found = use(lease, subject)
  if not found then
    leases.give_up(lease, subject.limit)
  end
  return found
end

-- Asks the store for what no batch is large enough for. Whoever has a lazy lease does so while nobody else uses it.
local function take_alone(key, subject, deadlines)
  local limit = subject.limit
  local request = { key = key, limit = limit, verb = "take", amount = subject.cost, binding = false }
  local answers, err = asking.ask(limit.store, { request }, deadlines)
  local answer = answers and answers[1]
  if not answer then
    return nil, err
  end
  return {
    allowed = answer.allowed,
    remaining = answer.remaining,
    reset = answer.reset,
    retry_after = answer.retry_after,
    delay = answer.delay or 0,
    time = answers.time or clock.now(),
    by = "store",
    lease = answer.allowed and { key = key, limit = limit } or nil,
  }
end

-- A request that may not ask past a lazy lease: the store is well, and has merely not come to this key.
local function kept_waiting(limit)
  return is_lazy(limit) and asking.kept_waiting(limit.store) or nil
end

-- Held by one worker. ------------------------------------------------------------------------------------------------

local held, count = {}, 0

local function hold(key, limit, now)
  local lease = leases.new(now)
  lease.key, lease.limit = key, limit
  held[key], count = lease, count + 1
  return lease
end

local function find(subject, now)
  local lease = held[subject.key]
  if not lease and count < most_keys then
    lease = hold(subject.key, subject.limit, now)
  end
  if lease then
    lease.limit = subject.limit -- the rules may have changed
  end
  return lease
end

local function drop(key)
  held[key], count = nil, count - 1
end

local function fetch(lease, subject, deadlines)
  local wanted = wanting(lease, subject)
  local answers, err = ask_store(subject, wanted, deadlines)
  if not answers then
    leases.doubt(lease)
    return nil, err
  end
  take_in(lease, subject, wanted, answers)
  local found = use_or_give_up(lease, subject)
  if found or not is_lazy(subject.limit) then
    return found
  end
  return take_alone(lease.key, subject, deadlines)
end

-- While a lease talks to the store, others wait: a batch that is read before what was used is reported holds too much.
local function begin_talk(lease)
  leases.begin_talk(lease)
  lease.waiting = semaphore.new()
end

local function end_talk(lease)
  local waiting = lease.waiting
  lease.waiting = nil
  waiting:post(math.max(1, -waiting:count()))
end

local function fetch_alone(lease, subject, deadlines)
  begin_talk(lease)
  local ok, found, err = pcall(fetch, lease, subject, deadlines)
  end_talk(lease)
  if not ok then
    return nil, found
  end
  return found, err
end

local function decide_in_worker(subject, deadlines, till)
  while true do
    local now = clock.steady()
    local lease = find(subject, now) -- again: it may have been settled meanwhile
    local found = lease and use(lease, subject)
    if found or not lease then
      return found
    elseif now >= till then
      return nil, kept_waiting(subject.limit)
    elseif not lease.waiting then
      return fetch_alone(lease, subject, deadlines)
    end
    lease.served = lease.served - subject.cost -- it comes again
    lease.waiting:wait((till - now) / 1e6)
  end
end

-- Whether a batch that was asked for lately may have been booked unheard, and still counts.
local function is_unsure(lease, now)
  return leases.is_doubted(lease) and now - lease.since < math.min(lease.limit.window, longest_doubt)
end

-- What a store that is away would not hear stays where it is, and so does the memory of a batch that was not answered:
-- without it the next request would ask for one more.
local function is_due(lease, now, all)
  local is_empty = lease.used == 0 and lease.credits == 0
  local is_over = now >= lease.expires and now >= lease.denied_until and not (is_empty and is_unsure(lease, now))
  return (all or is_over and not asking.is_away(lease.limit.store, now)) and not lease.waiting
end

local function owed_in_worker(now, all)
  local debts = {}
  for key, lease in pairs(held) do
    if is_due(lease, now, all) then
      local owed = debt(lease, now)
      if owed then
        begin_talk(lease)
        debts[#debts + 1] = owed
      else
        drop(key)
      end
    end
  end
  return debts
end

local function settled_in_worker(request, now, is_owed)
  local lease = held[request.key]
  if is_owed and now < request.counted_until then
    leases.doubt(lease)
  else
    drop(request.key)
  end
  end_talk(lease)
end

-- Held by a balancer. ------------------------------------------------------------------------------------------------

-- When this worker looks at what it fetched, by key.
local due, dues = {}, 0

local function look_at(key, limit, moment)
  dues = due[key] and dues or dues + 1
  due[key] = { limit = limit, at = moment }
end

-- Under the lock: begins a talk that has to be over at `till`. One that was not over in time may have been booked unheard.
local function begin_talk_for_all(lease, till)
  if lease.fetching_until > 0 then
    leases.doubt(lease)
  end
  lease.fetching_until = till
  return leases.begin_talk(lease)
end

-- Under the lock: what the lease decides; or what to ask for a new batch, which this worker then fetches; or nothing, while
-- another one does, or when it has waited long enough (`till`).
local function decide_or_want(subject, deadline, till)
  return function(lease)
    local found, now = use(lease, subject), clock.steady()
    if found then
      return { found = found }
    elseif lease.fetching_until > now or now >= till then
      lease.served = lease.served - subject.cost -- it comes again
      return {}
    end
    local talk = begin_talk_for_all(lease, deadline)
    local wanted = wanting(lease, subject)
    wanted.talk, wanted.till = talk, deadline
    return { wanted = wanted }
  end
end

-- Under the lock: ends a talk, unless it was given up.
local function end_talk_for_all(subject, talk, act)
  return shared.change(subject.key, subject.limit, function(lease)
    if lease.talk ~= talk then
      return { is_late = true }
    end
    lease.fetching_until = 0
    return act(lease) or {}
  end)
end

-- What came of a talk whose answers are there, under the lock. While a lazy lease is asked past, its talk goes on.
local function taking_in(subject, wanted, answers)
  return function(lease)
    take_in(lease, subject, wanted, answers)
    look_at(subject.key, subject.limit, lease.expires)
    local found = use_or_give_up(lease, subject)
    if not found and is_lazy(subject.limit) then
      lease.fetching_until = wanted.till
      return { is_too_small = true }
    end
    return { found = found }
  end
end

local function take_past_all(subject, wanted, deadlines)
  local ok, found, err = pcall(take_alone, subject.key, subject, deadlines)
  end_talk_for_all(subject, wanted.talk, function() end)
  if not ok then
    return nil, found
  end
  return found, err
end

local function fetch_for_all(subject, wanted, deadlines)
  local key, limit = subject.key, subject.limit
  look_at(key, limit, clock.steady() + limit.lease.expires)
  local ok, answers, err = pcall(ask_store, subject, wanted, deadlines)
  if not ok or not answers then
    end_talk_for_all(subject, wanted.talk, leases.doubt)
    return nil, ok and err or answers
  end
  local came = end_talk_for_all(subject, wanted.talk, taking_in(subject, wanted, answers))
  if not came or came.is_late then
    return nil, kept_waiting(limit)
  elseif came.is_too_small then
    return take_past_all(subject, wanted, deadlines)
  end
  return came.found
end

local function decide_in_balancer(subject, deadlines, till)
  local pause, deadline = look_again, asking.deadline(subject.limit.store, deadlines)
  while dues < most_keys do
    local said, err = shared.change(subject.key, subject.limit, decide_or_want(subject, deadline, till))
    if not said then
      return nil, err == shared.locked and kept_waiting(subject.limit) or nil
    elseif said.found then
      return said.found
    elseif said.wanted then
      return fetch_for_all(subject, said.wanted, deadlines)
    elseif clock.steady() >= till then
      return nil, kept_waiting(subject.limit)
    end
    ngx.sleep(pause)
    pause = math.min(2 * pause, look_seldom)
  end
  return nil
end

-- Under the lock: what is owed, unless another worker has fetched since, or does so now.
local function settle_if_over(now, all)
  return function(lease)
    if lease.fetching_until > now or not all and now < lease.expires then
      return nil
    end
    local owed = debt(lease, now)
    if owed then
      owed.talk = begin_talk_for_all(lease, now + most_talk)
      owed.is_doubted = leases.is_doubted(lease)
    end
    return owed
  end
end

local function due_at(now, all)
  local list = {}
  for key, entry in pairs(due) do
    if all or now >= entry.at and not asking.is_away(entry.limit.store, now) then
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

local function settled_in_balancer(request, now, is_owed)
  local ended = end_talk_for_all(request, request.talk, function(lease)
    if is_owed then
      leases.doubt(lease)
    else
      leases.told(lease, request.verb, request.amount)
    end
  end)
  if is_owed or not ended then
    look_at(request.key, request.limit, now)
  end
end

-- Both. --------------------------------------------------------------------------------------------------------------

--- Decides from the lease of a subject, taking a new batch when needed.
-- @param deadlines until when the request waits, by store: `asking` keeps to it
-- @return an outcome; or nil when the store must be asked for this request alone; or nil and a reason when the store failed
function M.decide(subject, deadlines)
  if ngx.worker.exiting() then
    return nil -- no one would settle it
  end
  local limit = subject.limit
  local deadline = asking.deadline(limit.store, deadlines)
  local till = is_lazy(limit) and deadline or math.min(clock.steady() + patience, deadline)
  local decide = limit.lease.holder == "balancer" and decide_in_balancer or decide_in_worker
  return decide(subject, deadlines, till)
end

-- Gives back to the store what it granted to a request alone, when that has gone on.
local function give_back(found, cost)
  local lease = found.lease
  local refund =
    { key = lease.key, limit = lease.limit, verb = "refund", amount = cost, at = found.time, binding = false }
  ngx.timer.at(0, function()
    tell({ refund })
  end)
end

--- Undoes a decision of the lease, when another limit rejected the request.
function M.put_back(found, cost)
  local lease = found.lease
  if not found.talk then
    return give_back(found, cost)
  elseif not lease.is_shared then
    return leases.put_back(lease, cost, found.talk)
  end
  shared.change(lease.key, lease.limit, function(now_there)
    leases.put_back(now_there, cost, found.talk)
  end)
end

local function by_store(debts)
  local batches, open = {}, {}
  for _, each in ipairs(debts) do
    local batch = open[each.limit.store]
    if not batch or #batch >= asking.most_together(each.limit.store) then
      batch = {}
      open[each.limit.store], batches[#batches + 1] = batch, batch
    end
    batch[#batch + 1] = each
  end
  return batches
end

-- A report is owed until the store has answered it. A refund that was booked twice would be a second quota: it is sent once.
local function settled(batch, is_told)
  local now = clock.steady()
  for _, request in ipairs(batch) do
    local is_owed = not is_told and request.verb == "report" and asking.knows(request.limit.store)
    local settled_there = request.limit.lease.holder == "balancer" and settled_in_balancer or settled_in_worker
    settled_there(request, now, is_owed)
  end
end

--- Settles what has expired; `all` also settles what has not (the worker ends).
function M.sweep(all)
  local now = clock.steady()
  for _, batch in ipairs(by_store(owed_in_balancer(now, all, owed_in_worker(now, all)))) do
    local ok, is_told = pcall(tell_surely, batch)
    settled(batch, ok and is_told)
  end
end

return M
