--- Decides subjects: from the cache of rejections, from leases, from their stores, or by policy when a store fails.

local ffi = require("ffi")
local asking = require("ratelimit.asking")
local clock = require("ratelimit.clock")
local keys = require("ratelimit.keys")
local known = require("ratelimit.known")
local leases = require("ratelimit.leases")
local leasing = require("ratelimit.leasing")
local metrics = require("ratelimit.metrics")

local M = {}

-- A rejection is remembered no longer than a lease believes one. It answers requests of the same cost only, with what the store
-- said: another cost has another wait.
local too_short_to_remember = 5000
local clock_grain = 0.002

-- The cache of rejections. -------------------------------------------------------------------------------------------

local function cache_key(subject)
  return subject.limit.limit .. "|" .. subject.cost .. "|" .. subject.key
end

local function is_cached(limit)
  return limit.is_remote and not limit.lease
end

-- A rejection in the cache: until when it is believed, when to try again (-1: never), when everything is free again, and what
-- remains. The times are on the steady clock: the dictionary's own follow the machine's, which may be set back.
local rejection = ffi.typeof("struct { double believed_until, retry_at, reset_at, remaining; }")
local as_rejection = ffi.typeof("const $ *", rejection)

local function cached_rejection(subject)
  local bytes = ngx.shared.ratelimit_cache:get(cache_key(subject))
  if not bytes then
    return nil
  end
  local now, said = clock.steady(), ffi.cast(as_rejection, bytes)
  if now >= said.believed_until then
    return nil
  end
  return {
    allowed = false,
    remaining = said.remaining,
    reset = math.max(0, said.reset_at - now),
    retry_after = said.retry_at < 0 and -1 or math.max(1, said.retry_at - now),
    delay = 0,
    time = clock.now(),
    by = "over_limit_cache",
  }
end

local function remember_rejection(subject, answer)
  local wait = answer.retry_after
  if wait < too_short_to_remember and wait >= 0 or subject.cost == 0 then
    return
  end
  local life, now = wait < 0 and leases.believed or math.min(wait, leases.believed), clock.steady()
  local record = rejection(now + life, wait < 0 and -1 or now + wait, now + answer.reset, answer.remaining)
  local bytes, seconds = ffi.string(record, ffi.sizeof(record)), life / 1e6 - clock_grain
  local _, _, forced = ngx.shared.ratelimit_cache:set(cache_key(subject), bytes, seconds)
  if forced then
    metrics.add("ratelimit_evictions_total")
  end
end

-- Deciding. ----------------------------------------------------------------------------------------------------------

-- `withdrawn`, which `all` adds: fits, but nothing was taken, as another limit rejects the request.
local function conclude(subject, answer, by, time)
  local limit = subject.limit
  return {
    limit = limit,
    client = subject.client,
    cost = subject.cost,
    by = by,
    time = time,
    lease = answer.lease,
    talk = answer.talk,
    allowed = answer.allowed,
    rejects = limit.binding and not answer.allowed,
    remaining = answer.remaining,
    reset = answer.reset,
    retry_after = answer.retry_after,
    delay = answer.delay,
  }
end

local function request_for(subject)
  return {
    key = subject.key,
    stripe = subject.stripe,
    limit = subject.limit,
    verb = "take",
    amount = subject.cost,
    binding = subject.limit.binding,
  }
end

local unknown = { remaining = 0, reset = 0, delay = 0 }

local function fixed(subject, allowed, by)
  local answer = { allowed = allowed, remaining = 0, reset = 1e6, retry_after = allowed and 0 or 1e6, delay = unknown.delay }
  return conclude(subject, answer, by, clock.now())
end

-- The balancer's own part of the limit, but no more than the store would still give as far as is known.
local function decide_locally(subject)
  local limit = subject.limit.localized
  local is_covered = known.covers(subject.limit)
  if is_covered and not known.take(subject) then
    return fixed(subject, false, "policy_local")
  end
  local key = keys.nearby(limit, subject.client)
  local found = asking.ask("memory", { { key = key, limit = limit, verb = "take", amount = subject.cost, binding = true } })
  if is_covered and not (found and found[1].allowed) then
    known.put_back(subject)
  end
  if not found then
    return fixed(subject, false, "policy_closed")
  end
  return conclude(subject, found[1], "policy_local", found.time)
end

-- A store that is merely busy with the client's own key has its count: a second count nearby would be a second quota.
local function decide_without_store(subject, err)
  local policy = subject.limit.when_store_fails
  if policy == "local" then
    if not asking.is_busy(err) then
      return decide_locally(subject)
    end
    policy = "closed"
  end
  return fixed(subject, policy == "open", "policy_" .. policy)
end

local function is_denied(subjects, answers)
  for i, subject in ipairs(subjects) do
    if subject.limit.binding and answers[i] and not answers[i].allowed then
      return true
    end
  end
  return false
end

-- Takes from the store what it lacks of a client, as far as something is left for that.
local function make_up(subject, lacks, left, deadlines)
  local request, asked = request_for(subject), clock.steady()
  request.amount, request.binding = math.min(lacks, left), false
  local found = request.amount > 0 and asking.ask(subject.limit.store, { request }, deadlines)
  if found and found[1].allowed then
    known.learn(subject, found[1], found.time, asked)
  elseif request.amount > 0 then
    known.owe(subject, request.amount)
  end
end

local used_up = { __index = { allowed = false, remaining = 0, retry_after = 1e6, delay = 0 } }

-- The answer of a store, after what it has forgotten or never heard of the client was taken from it: a store that came back
-- empty grants what the client had used before.
local function settled_up(subject, answer, time, asked, deadlines)
  local lacks = known.covers(subject.limit) and known.learn(subject, answer, time, asked) or 0
  if lacks == 0 then
    return answer
  end
  make_up(subject, lacks, answer.remaining, deadlines)
  if lacks > answer.remaining then
    return setmetatable({ reset = answer.reset, granted = answer.granted }, used_up)
  end
  answer.remaining = answer.remaining - lacks
  return answer
end

-- Concludes from what a store said of a subject; `withdrawn` says that another limit has rejected the request.
local function from_store(subject, answer, time, withdrawn)
  if not answer.allowed and is_cached(subject.limit) then
    remember_rejection(subject, answer)
  end
  local outcome = conclude(subject, answer, "store", time)
  outcome.withdrawn = withdrawn and answer.granted == 0
  return outcome
end

local function ask_store(name, subjects, outcomes, deadlines)
  local requests, asked = {}, clock.steady()
  for i, subject in ipairs(subjects) do
    requests[i] = request_for(subject)
  end
  local found, err = asking.ask(name, requests, deadlines)
  local denied = found and is_denied(subjects, found)
  for i, subject in ipairs(subjects) do
    if not found then
      outcomes[#outcomes + 1] = decide_without_store(subject, err)
    elseif found[i] then
      local withdrawn = denied and found[i].allowed
      local answer = withdrawn and found[i] or settled_up(subject, found[i], found.time, asked, deadlines)
      outcomes[#outcomes + 1] = from_store(subject, answer, found.time, withdrawn)
    end
  end
end

local function rejected(outcomes, from)
  for i = from, #outcomes do
    if outcomes[i].rejects then
      return true
    end
  end
  return false
end

-- What a lease or the cache of rejections says; nil, and a reason when the lease's store failed.
local function find_nearby(subject, deadlines)
  if subject.limit.lease then
    return leasing.decide(subject, deadlines)
  elseif is_cached(subject.limit) then
    return cached_rejection(subject)
  end
end

-- Decides what needs no store call; returns the subjects that need one, by store and in the order of the rules.
local function decide_nearby(subjects, outcomes, deadlines)
  local order, groups = {}, {}
  for _, subject in ipairs(subjects) do
    local limit, found, failed = subject.limit, find_nearby(subject, deadlines)
    if found then
      outcomes[#outcomes + 1] = conclude(subject, found, found.by, found.time)
    elseif failed then
      outcomes[#outcomes + 1] = decide_without_store(subject, failed)
    else
      if not groups[limit.store] then
        groups[limit.store], order[#order + 1] = {}, limit.store
      end
      table.insert(groups[limit.store], subject)
    end
  end
  return order, groups
end

local function put_back_leases(outcomes)
  for _, outcome in ipairs(outcomes) do
    if outcome.lease then
      leasing.put_back(outcome, outcome.cost)
      outcome.withdrawn, outcome.remaining = true, outcome.remaining + outcome.cost
    end
  end
end

--- Decides all subjects: outcomes, and whether the request is rejected.
function M.all(subjects)
  local outcomes, deadlines = {}, {}
  local order, groups = decide_nearby(subjects, outcomes, deadlines)
  local stop = rejected(outcomes, 1)
  for _, name in ipairs(order) do
    if stop then
      break
    end
    local from = #outcomes + 1
    ask_store(name, groups[name], outcomes, deadlines)
    stop = rejected(outcomes, from)
  end
  if stop then
    put_back_leases(outcomes)
  end
  return outcomes, stop
end

--- Decides all subjects by their limits' policies, when the filter itself has failed: outcomes, and whether one rejects.
function M.by_policy(subjects)
  local outcomes = {}
  for i, subject in ipairs(subjects) do
    outcomes[i] = decide_without_store(subject)
  end
  return outcomes, rejected(outcomes, 1)
end

--- The same when no one knows whom the request concerns: without a key nothing can be counted, so `local` is `closed`.
function M.blindly(limits)
  local outcomes = {}
  for i, limit in ipairs(limits) do
    local open = limit.when_store_fails == "open"
    outcomes[i] = fixed({ limit = limit, client = "unknown", cost = 1 }, open, open and "policy_open" or "policy_closed")
  end
  return outcomes, rejected(outcomes, 1)
end

--- Decides a subject of a limit in shared memory without a table.
-- @return allowed, remaining, reset, retry_after, delay, time; nil when the store failed or had just failed
function M.nearby(subject)
  local store = not subject.limit.lease and asking.nearby(subject.limit.store)
  if store then
    return store:take(subject.key, subject.stripe, subject.limit, subject.cost)
  end
end

-- Asks a limit's store for one subject.
local function ask_one(subject, deadlines)
  local asked = clock.steady()
  local found, err = asking.ask(subject.limit.store, { request_for(subject) }, deadlines)
  if not found then
    return decide_without_store(subject, err)
  end
  return from_store(subject, settled_up(subject, found[1], found.time, asked, deadlines), found.time)
end

--- The outcome of what `nearby` has decided; when that is nil, its lease, the cache of rejections or its store is asked.
function M.one(subject, allowed, remaining, reset, retry_after, delay, time)
  if allowed ~= nil then
    return conclude(subject, {
      allowed = allowed,
      remaining = remaining,
      reset = reset,
      retry_after = retry_after,
      delay = delay,
    }, "store", time)
  end
  local deadlines = {}
  local found, failed = find_nearby(subject, deadlines)
  if found then
    return conclude(subject, found, found.by, found.time)
  end
  return failed and decide_without_store(subject, failed) or ask_one(subject, deadlines)
end

return M
