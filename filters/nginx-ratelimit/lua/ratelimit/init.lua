--- The filter: decides each request under every limit that matches it, and acts on that.
--
-- In nginx.conf: init_by_lua `require("ratelimit").start(path)`, init_worker_by_lua `.work()`, access_by_lua `.access()`,
-- and, apart from where clients come in, locations with content_by_lua `.metrics()`, `.hot_keys()` and `.page()`.

local answers = require("ratelimit.answers")
local asking = require("ratelimit.asking")
local counting = require("ratelimit.counting")
local deciding = require("ratelimit.deciding")
local decisions = require("ratelimit.decisions")
local hot = require("ratelimit.hot")
local leasing = require("ratelimit.leasing")
local memory = require("ratelimit.stores.memory")
local metrics = require("ratelimit.metrics")
local in_force = require("ratelimit.in_force")
local subjects = require("ratelimit.subjects")

local M = {}

-- Recording and acting. ----------------------------------------------------------------------------------------------

local function name_of(outcome)
  if outcome.allowed then
    return outcome.withdrawn and "withdrawn" or "allowed"
  end
  return outcome.rejects and "rejected" or "shadow_rejected"
end

local function write_down(rules, outcome)
  counting.decision(outcome.limit, name_of(outcome))
  counting.decider(outcome.by)
  hot.count(outcome.limit, outcome.client, not outcome.allowed)
  if rules.decision_log then
    decisions.add(rules, outcome)
  end
end

local function fault(err)
  metrics.add("ratelimit_faults_total")
  ngx.log(ngx.ERR, "ratelimit: ", err)
end

-- An error here must not undo what was decided.
local function record(rules, outcome)
  local ok, err = pcall(write_down, rules, outcome)
  if not ok then
    fault(err)
  end
end

local function record_all(rules, outcomes)
  for _, outcome in ipairs(outcomes) do
    record(rules, outcome)
  end
end

-- Whether a client sees an outcome: not that of a shadow limit, and not one that no one counted.
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

local nothing = {}

-- Whether a decision in shared memory leaves nothing to do but to tell the client what remains.
local function is_plain(rules, limit, allowed, delay)
  return allowed and delay == 0 and limit.binding and rules.is_plain
end

-- The only limit of the rules: the common case, decided without lists, and in shared memory without a table.
local function judge_one(rules, limit)
  if not subjects.concerns(limit) then
    return nothing
  end
  local subject, refused = subjects.one(limit)
  if not subject then
    return not refused and nothing or nil, refused
  end
  local allowed, remaining, reset, retry_after, delay, time = deciding.nearby(subject)
  if is_plain(rules, subject.limit, allowed, delay) then
    counting.decision(subject.limit, "allowed")
    counting.decider("store")
    hot.count(subject.limit, subject.client, false)
    answers.describe_one(subject.limit, remaining, reset, rules.fields)
    return nothing
  end
  local outcome = deciding.one(subject, allowed, remaining, reset, retry_after, delay, time)
  record(rules, outcome)
  return { outcome }, outcome.rejects
end

local function judge_many(rules)
  local found, refused = subjects.all(rules)
  if refused then
    return nil, refused
  end
  local outcomes, stop = deciding.all(found)
  record_all(rules, outcomes)
  return outcomes, stop
end

local function judge(rules)
  local refused = subjects.unclear_target(rules)
  if refused then
    return nil, refused
  elseif rules.only then
    return judge_one(rules, rules.only)
  end
  return judge_many(rules)
end

-- What to do when deciding has failed: what the policies of the limits say.
local function judge_by_policy(rules)
  local found, refused = subjects.all(rules)
  if refused then
    return nil, refused
  end
  local outcomes, stop = deciding.by_policy(found)
  record_all(rules, outcomes)
  return outcomes, stop
end

-- The same when not even the subjects can be found.
local function judge_blindly(rules)
  local outcomes, stop = deciding.blindly(subjects.limits(rules))
  record_all(rules, outcomes)
  return outcomes, stop
end

local function recover(rules, err)
  fault(err)
  local ok, outcomes, result = pcall(judge_by_policy, rules)
  if not ok then
    fault(outcomes)
    ok, outcomes, result = pcall(judge_blindly, rules)
  end
  if not ok then
    fault(outcomes)
    return nothing
  end
  return outcomes, result
end

local function describe(rules, outcomes)
  answers.describe(visible(outcomes), rules.fields)
end

local function act(rules, outcomes, stop)
  local ok, err = pcall(describe, rules, outcomes)
  if not ok then
    fault(err)
  end
  if stop then
    return answers.reject(outcomes)
  end
  local delay = longest_delay(outcomes)
  if delay > 0 then
    ngx.sleep(delay / 1e6)
  end
end

-- nginx comes here again with a request that it sends on internally (index, try_files, error_page). A request that was not
-- decided and answered before is decided now: a location may be reached from one without the filter.
local function is_decided()
  return ngx.req.is_internal() and answers.is_described()
end

--- Decides the current request. An error of the filter itself is logged and counted, and the limits' policies decide.
function M.access()
  if is_decided() then
    return nil
  end
  local rules = in_force.current
  local ok, outcomes, result = pcall(judge, rules)
  if not ok then
    outcomes, result = recover(rules, outcomes)
  end
  if not outcomes then
    return answers.refuse(result.status, result.title, result.detail)
  end
  if outcomes[1] then
    return act(rules, outcomes, result)
  end
end

--- Answers with the metrics.
function M.metrics()
  ngx.header["Content-Type"] = "text/plain; version=0.0.4"
  ngx.print(metrics.page(), hot.gauges(in_force.current))
end

--- Answers with who asks most and who is rejected most.
function M.hot_keys()
  ngx.header["Content-Type"], ngx.header["Cache-Control"] = "application/json", "no-store"
  ngx.print(hot.json(in_force.current))
end

--- Answers with the page that shows that.
function M.page()
  ngx.header["Content-Type"], ngx.header["X-Frame-Options"] = "text/html; charset=utf-8", "DENY"
  ngx.print(hot.page())
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

-- Counts of what should never happen are there from the start: an alert sees the first of them only if there was a 0 before.
local function count_from_zero()
  for _, series in ipairs({
    "ratelimit_faults_total",
    "ratelimit_refused_keys_total",
    metrics.series("ratelimit_plan_reloads_total", "result", "bad"),
  }) do
    metrics.add(series, 0)
  end
end

--- Reads the rules; called once before the workers start. Bad ones stop nginx from starting.
function M.start(path)
  allow_long_traces()
  for _, name in ipairs({ "ratelimit_state", "ratelimit_locks", "ratelimit_cache", "ratelimit_metrics" }) do
    if not ngx.shared[name] then
      error(("ratelimit: nginx.conf lacks lua_shared_dict %s 10m; in the http block"):format(name), 0)
    end
  end
  memory.share()
  count_from_zero()
  in_force.start(path, function(rules)
    asking.prepare(rules)
    hot.prepare(rules)
  end)
end

--- Starts the timers of a worker.
function M.work()
  every(0.5, metrics.flush)
  every(1, hot.publish)
  every(0.2, function()
    decisions.flush(in_force.current)
  end)
  every(0.1, leasing.sweep)
  every(1, in_force.refresh)
  ngx.timer.at(0, asking.warm)
  every(1, asking.warm)
  if ngx.worker.id() == 0 then
    every(1, asking.purge_in_turn)
    every(1, asking.check)
  end
end

return M
