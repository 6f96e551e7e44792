--- The filter: decides each request under every limit that matches it, and acts on that.
--
-- In nginx.conf: init_by_lua `require("ratelimit").start(path)`, init_worker_by_lua `.work()`, access_by_lua `.access()`,
-- and a location with content_by_lua `.metrics()`.

local answers = require("ratelimit.answers")
local asking = require("ratelimit.asking")
local clock = require("ratelimit.clock")
local decisions = require("ratelimit.decisions")
local keys = require("ratelimit.keys")
local leasing = require("ratelimit.leasing")
local lock = require("ratelimit.stores.lock")
local metrics = require("ratelimit.metrics")
local plans = require("ratelimit.plans")

local M = {}

-- A rejection is remembered for at most this long, so that a raised limit or a returned lease is noticed.
local remembered = 1e6
local too_short_to_remember = 5000
local clock_grain = 0.002

-- Who asks, under which limit, at what cost. --------------------------------------------------------------------------

local function matches(limit, uri, method)
  return (not limit.prefix or uri:sub(1, #limit.prefix) == limit.prefix) and (not limit.methods or limit.methods[method])
end

local function tiered(limit, value)
  local tier = limit.clients[value] or limit.tier and keys.read(limit.tier)
  return tier and limit.by_tier[tier] or limit
end

local function count_decision(limit, outcome)
  local series = limit.series
  if not series then
    series = {}
    limit.series = series
  end
  if not series[outcome] then
    series[outcome] = metrics.series("ratelimit_decisions_total", "limit", limit.label or limit.name, "outcome", outcome)
  end
  metrics.add(series[outcome])
end

local function refusal(status, title, detail)
  return { status = status, title = title, detail = detail }
end

-- The key of the request under a limit; or nil: not subject to it; or nil and a refusal.
local function key_of(limit)
  local value = keys.key(limit)
  if value then
    return value
  end
  metrics.add(metrics.series("ratelimit_missing_keys_total", "limit", limit.name))
  if limit.missing_key == "address" then
    return "no-key@" .. ngx.var.remote_addr
  elseif limit.missing_key == "reject" then
    return nil, refusal(400, "Missing client key", ("The limit %s needs to know who is asking."):format(limit.name))
  end
end

local most_known = 10000

-- What a key's value leads to under a limit: worked out once, remembered for the keys seen last. The value is the only input.
local function known_subject(limit, value)
  local known = limit.known
  if not known or limit.known_count >= most_known then
    known = {}
    limit.known, limit.known_count = known, 0
  end
  local client = keys.client(value)
  local key = keys.storage(limit, client)
  local found = { client = client, key = key, stripe = lock.stripe(key) }
  if #value <= 256 then
    known[value], limit.known_count = found, limit.known_count + 1
  end
  return found
end

-- Runs once a key; compiled into the path of every request it would break that path's trace at the pattern search.
jit.off(known_subject, true)
jit.off(keys.client)

local function subject_of(limit)
  local value, refused = key_of(limit)
  if not value then
    return nil, refused
  elseif limit.allow[value] then
    count_decision(limit, "exempt")
    return nil
  elseif limit.deny[value] then
    count_decision(limit, "denied")
    return nil, refusal(403, "Denied", "This client may not use this service.")
  end
  local effective = tiered(limit, value)
  local known = effective.known and effective.known[value] or known_subject(effective, value)
  return { limit = effective, client = known.client, key = known.key, stripe = known.stripe, cost = keys.cost(limit) }
end

local function subjects_of(plan)
  local uri, method, list = ngx.var.uri, ngx.req.get_method(), {}
  for _, limit in ipairs(plan.limits) do
    if matches(limit, uri, method) then
      local subject, refused = subject_of(limit)
      if refused then
        return nil, refused
      end
      list[#list + 1] = subject
    end
  end
  return list
end

-- The cache of rejections. -------------------------------------------------------------------------------------------

local function cache_key(subject)
  return subject.limit.limit .. "|" .. subject.key
end

local function is_cached(limit)
  return limit.store ~= "memory" and not limit.lease
end

local function cached_rejection(subject)
  local till, cost = ngx.shared.ratelimit_cache:get(cache_key(subject))
  if not till or subject.cost < cost then
    return nil
  end
  local now = clock.now()
  local left = till - now
  if left <= 0 then
    return nil
  end
  return { allowed = false, remaining = 0, reset = left, retry_after = left, delay = 0, time = now, by = "over_limit_cache" }
end

local function remember_rejection(subject, answer)
  local wait = answer.retry_after
  if wait < too_short_to_remember and wait >= 0 or subject.cost == 0 then
    return
  end
  local seconds = (wait < 0 and remembered or math.min(wait, remembered)) / 1e6 - clock_grain
  local till = clock.now() + (wait < 0 and remembered or wait)
  local _, _, forced = ngx.shared.ratelimit_cache:set(cache_key(subject), till, seconds, subject.cost)
  if forced then
    metrics.add("ratelimit_evictions_total")
  end
end

-- Deciding. ----------------------------------------------------------------------------------------------------------

local function conclude(subject, answer, by, time)
  local limit = subject.limit
  return {
    limit = limit, client = subject.client, cost = subject.cost, by = by, time = time, lease = answer.lease,
    allowed = answer.allowed, rejects = limit.binding and not answer.allowed, remaining = answer.remaining,
    reset = answer.reset, retry_after = answer.retry_after, delay = answer.delay,
  }
end

local function request_for(subject)
  return {
    key = subject.key, stripe = subject.stripe, limit = subject.limit, verb = "take", amount = subject.cost,
    binding = subject.limit.binding,
  }
end

local unknown = { remaining = 0, reset = 0, delay = 0 }

local function fixed(subject, allowed, by)
  local answer = { allowed = allowed, remaining = 0, reset = 1e6, retry_after = allowed and 0 or 1e6, delay = unknown.delay }
  return conclude(subject, answer, by, clock.now())
end

local function decide_locally(subject)
  local limit = subject.limit.localized
  local key = keys.storage(limit, subject.client)
  local found = asking.ask("memory", { { key = key, limit = limit, verb = "take", amount = subject.cost, binding = true } })
  if not found then
    return fixed(subject, false, "policy_closed")
  end
  return conclude(subject, found[1], "policy_local", found.time)
end

local function decide_without_store(subject)
  local policy = subject.limit.when_store_fails
  if policy == "local" then
    return decide_locally(subject)
  end
  return fixed(subject, policy == "open", "policy_" .. policy)
end

local function ask_store(name, subjects, outcomes)
  local requests = {}
  for i, subject in ipairs(subjects) do
    requests[i] = request_for(subject)
  end
  local found = asking.ask(name, requests)
  for i, subject in ipairs(subjects) do
    if not found then
      outcomes[#outcomes + 1] = decide_without_store(subject)
    elseif found[i] then
      outcomes[#outcomes + 1] = conclude(subject, found[i], "store", found.time)
      if not found[i].allowed and is_cached(subject.limit) then
        remember_rejection(subject, found[i])
      end
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

-- Decides what needs no store call; returns the subjects that need one, by store and in the order of the plan.
local function decide_nearby(subjects, outcomes)
  local order, groups = {}, {}
  for _, subject in ipairs(subjects) do
    local limit, found, failed = subject.limit, nil, nil
    if limit.lease then
      found, failed = leasing.decide(subject)
    elseif is_cached(limit) then
      found = cached_rejection(subject)
    end
    if found then
      outcomes[#outcomes + 1] = conclude(subject, found, found.by, found.time)
    elseif failed then
      outcomes[#outcomes + 1] = decide_without_store(subject)
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
    end
  end
end

local function decide_many(subjects)
  local outcomes = {}
  local order, groups = decide_nearby(subjects, outcomes)
  local stop = rejected(outcomes, 1)
  for _, name in ipairs(order) do
    if stop then
      break
    end
    local from = #outcomes + 1
    ask_store(name, groups[name], outcomes)
    stop = rejected(outcomes, from)
  end
  if stop then
    put_back_leases(outcomes)
  end
  return outcomes, stop
end

-- Shared memory and one limit: the common case, without lists.
local function decide_one(subject)
  local found = asking.ask(subject.limit.store, { request_for(subject) })
  return found and conclude(subject, found[1], "store", found.time) or decide_without_store(subject)
end

-- Recording and acting. ----------------------------------------------------------------------------------------------

local by_series = {}

local function record(plan, outcome)
  count_decision(outcome.limit, outcome.allowed and "allowed" or outcome.rejects and "rejected" or "shadow_rejected")
  local by = by_series[outcome.by] or metrics.series("ratelimit_decided_by_total", "by", outcome.by)
  by_series[outcome.by] = by
  metrics.add(by)
  if plan.decision_log then
    decisions.add(plan, outcome)
  end
end

-- Whether a client is told: of no shadow limit, and of nothing that nobody counted.
local function is_visible(outcome)
  return outcome.limit.binding and (outcome.by ~= "policy_open")
end

local function visible(outcomes)
  if outcomes[2] == nil then
    return outcomes[1] and is_visible(outcomes[1]) and outcomes or {}
  end
  local shown = {}
  for _, outcome in ipairs(outcomes) do
    if is_visible(outcome) then
      shown[#shown + 1] = outcome
    end
  end
  return shown
end

local function longest_delay(outcomes)
  if outcomes[2] == nil then
    return outcomes[1] and outcomes[1].limit.binding and outcomes[1].delay or 0
  end
  local longest = 0
  for _, outcome in ipairs(outcomes) do
    longest = outcome.limit.binding and math.max(longest, outcome.delay) or longest
  end
  return longest
end

local function judge_one(plan, limit)
  if (limit.prefix or limit.methods) and not matches(limit, ngx.var.uri, ngx.req.get_method()) then
    return {}
  end
  local subject, refused = subject_of(limit)
  if not subject then
    return not refused and {} or nil, refused
  end
  local outcome = decide_one(subject)
  record(plan, outcome)
  return { outcome }, outcome.rejects
end

local function judge_many(plan)
  local subjects, refused = subjects_of(plan)
  if refused then
    return nil, refused
  elseif #subjects == 0 then
    return {}
  end
  local outcomes, stop = decide_many(subjects)
  for _, outcome in ipairs(outcomes) do
    record(plan, outcome)
  end
  return outcomes, stop
end

local function judge(plan)
  local limits = plan.limits
  local only = limits[2] == nil and limits[1]
  if only and only.store == "memory" and not only.lease then
    return judge_one(plan, only)
  end
  return judge_many(plan)
end

local function act(plan, outcomes, stop)
  answers.describe(visible(outcomes), plan.fields)
  if stop then
    return answers.reject(outcomes)
  end
  local delay = longest_delay(outcomes)
  if delay > 0 then
    ngx.sleep(delay / 1e6)
  end
end

--- Decides the current request. An error of the filter itself is logged and counted, and the request goes on.
function M.access()
  local plan = plans.current
  local ok, outcomes, result = pcall(judge, plan)
  if not ok then
    metrics.add("ratelimit_faults_total")
    ngx.log(ngx.ERR, "ratelimit: ", outcomes)
    return nil
  elseif not outcomes then
    return answers.refuse(result.status, result.title, result.detail)
  end
  return act(plan, outcomes, result)
end

--- Answers with the metrics.
function M.metrics()
  ngx.header["Content-Type"] = "text/plain; version=0.0.4"
  ngx.print(metrics.page())
end

-- Life of a worker. --------------------------------------------------------------------------------------------------

local function every(seconds, work)
  local ok, err = ngx.timer.every(seconds, function(ending)
    local done, why = pcall(work, ending)
    if not done then
      ngx.log(ngx.ERR, "ratelimit: ", why)
    end
  end)
  if not ok then
    ngx.log(ngx.ERR, "ratelimit: no timer: ", err)
  end
end

-- OpenResty's own settings: with LuaJIT's smaller defaults, which Debian's build has, a whole decision is too long to compile.
local function allow_long_traces()
  require("jit.opt").start("maxrecord=16000", "maxtrace=8000", "maxirconst=2000")
end

--- Reads the plan; called once before the workers start. A bad plan stops nginx from starting.
function M.start(path)
  allow_long_traces()
  for _, name in ipairs({ "ratelimit_state", "ratelimit_locks", "ratelimit_cache", "ratelimit_metrics" }) do
    if not ngx.shared[name] then
      error(("ratelimit: nginx.conf lacks lua_shared_dict %s 10m; in the http block"):format(name), 0)
    end
  end
  plans.start(path, asking.prepare)
end

--- Starts the timers of a worker.
function M.work()
  every(0.5, metrics.flush)
  every(0.2, function()
    decisions.flush(plans.current)
  end)
  every(0.1, leasing.sweep)
  every(1, plans.refresh)
  ngx.timer.at(0, asking.warm)
  every(1, asking.warm)
  if ngx.worker.id() == 0 then
    every(60, asking.purge)
  end
end

return M
