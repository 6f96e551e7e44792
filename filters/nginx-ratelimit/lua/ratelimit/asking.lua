--- Asks a store, behind its breaker, and counts how that went.

local breaker = require("ratelimit.breaker")
local clock = require("ratelimit.clock")
local connection = require("ratelimit.wire.connection")
local lines = require("ratelimit.stores.lines")
local metrics = require("ratelimit.metrics")

local M = {}

local kinds = {
  memory = require("ratelimit.stores.memory"),
  redis = require("ratelimit.stores.redis"),
  mariadb = require("ratelimit.stores.mariadb"),
  crdt = require("ratelimit.stores.crdt"),
}

local stores = {}
local between_purges = 60e6

--- Makes the stores of the rules ready; a breaker outlives a reload.
function M.prepare(rules)
  local old = stores
  stores = {}
  for name, config in pairs(rules.stores) do
    local settings = { address = config.address, timeout = config.timeout_seconds, asks = config.asks }
    local store, err = kinds[config.kind].new(settings)
    if not store then
      error(("ratelimit: store %s %s"):format(name, err), 0)
    end
    stores[name] = {
      store = store,
      breaker = old[name] and old[name].breaker or breaker.new(config.breaker),
      histogram = metrics.histogram(name),
      skipped = metrics.series("ratelimit_store_skipped_total", "store", name),
      name = name,
      timeout = config.timeout,
      purge_at = old[name] and old[name].purge_at or clock.steady() + between_purges,
      is_remote = config.kind ~= "memory",
    }
    metrics.add(stores[name].skipped, 0)
  end
end

--- Whether the rules have a store.
function M.knows(name)
  return stores[name] ~= nil
end

--- Whether a store is not to be asked now, because it has failed.
function M.is_away(name, now)
  return stores[name] ~= nil and stores[name].breaker:is_open(now)
end

--- How many keys a store settles together: all of them or none. Of one that asks for each apart, what failed would not be known.
function M.most_together(name)
  return stores[name] and stores[name].store.most_together or 1
end

--- Until when a request waits for a store, whatever it asks of it and how often: one timeout from the first time on.
-- @param deadlines a table that the request keeps, with a moment on the steady clock for each store
function M.deadline(name, deadlines)
  local each = stores[name]
  deadlines[name] = deadlines[name] or clock.steady() + (each and each.timeout or 0)
  return deadlines[name]
end

--- Whether a store is well and has merely not come to a key, because many ask for that one.
function M.is_busy(err)
  return err == lines.busy
end

--- Notes that a request has waited in vain for what the store answers another one of its key; returns why.
function M.kept_waiting(name)
  metrics.add(metrics.series("ratelimit_store_failures_total", "store", name, "reason", "busy"))
  return lines.busy
end

-- MariaDB's own end of a call that takes too long is the same end as ours.
local reasons = {
  { "^busy", "busy" },
  { "timeout", "timeout" },
  { "max_statement_time", "timeout" },
  { "refused", "refused" },
  { "no memory", "full" },
  { "closed", "closed" },
  { "^FULL", "full" },
  { "^LOADING", "loading" },
  { "LATE", "timeout" },
}

local function reason(err)
  for _, each in ipairs(reasons) do
    if tostring(err):find(each[1]) then
      return each[2]
    end
  end
  return "error"
end

local function failed(each, err, began)
  local now = clock.steady()
  local why = reason(err)
  metrics.add(metrics.series("ratelimit_store_failures_total", "store", each.name, "reason", why))
  if why == "full" then
    metrics.add("ratelimit_refused_keys_total")
    return
  elseif why == "busy" then
    return
  end
  local was_open = each.breaker:is_open(now)
  each.breaker:failed(began, now)
  if not was_open and each.breaker:is_open(now) then
    ngx.log(ngx.WARN, "ratelimit: store ", each.name, " is not asked for a while: ", err)
  end
end

--- The store of shared memory `name`, to be asked without detours; nil when it is another kind, or has just failed.
function M.nearby(name)
  local each = stores[name]
  return each and not each.is_remote and each.breaker.failures == 0 and each.store or nil
end

local most = 2 ^ 53

local function is_within(value, least, bound)
  return type(value) == "number" and value >= least and value <= bound -- false for what is not a number, too
end

-- No delay is longer than a full bucket takes to drain; a sidecar rounds its emission and its milliseconds up.
local function is_sound(answer, limit)
  return type(answer.allowed) == "boolean"
    and is_within(answer.remaining, 0, most)
    and is_within(answer.reset, 0, most)
    and is_within(answer.retry_after, -1, most)
    and is_within(answer.delay, 0, limit.ttl * 1.001 + 1000)
    and is_within(answer.granted, 0, most)
end

-- Answers that a server of ours would give, or nil and a reason.
local function sound(answers, requests)
  if not is_within(answers.time or 0, 0, most) then
    return nil, "not an answer: its time is not one"
  end
  for i = 1, #requests do
    if answers[i] and not is_sound(answers[i], requests[i].limit) then
      return nil, "not an answer: a number in it is out of its range"
    end
  end
  return answers
end

-- What a remote server sends may hold surprises; shared memory does not, and is asked too often to wrap the call.
local function decide(each, requests, deadline)
  if not each.is_remote then
    return each.store:decide(requests)
  end
  local ok, answers, err = pcall(each.store.decide, each.store, requests, nil, deadline)
  if not ok or not answers then
    return nil, ok and err or answers
  end
  return sound(answers, requests)
end

local function ask(each, requests, deadline, began)
  local answers, err = decide(each, requests, deadline)
  if answers then
    each.breaker:succeeded()
    if each.is_remote then
      metrics.observe(each.histogram, (clock.steady() - began) / 1e6)
    end
    return answers
  end
  failed(each, err, began)
  return nil, err
end

--- Asks `name` to decide `requests` together: answers, or nil and a reason.
-- @param deadlines until when the request waits (see `deadline`); without, for one timeout
function M.ask(name, requests, deadlines)
  local each, began = stores[name], clock.steady()
  if not each then
    return nil, "the store has left the rules"
  end
  local deadline = M.deadline(name, deadlines or {})
  if began > deadline then
    metrics.add(metrics.series("ratelimit_store_failures_total", "store", each.name, "reason", "timeout"))
    return nil, "timeout: another call has used it up" -- not the store's failure: it was not asked
  elseif not each.breaker:allows(began) then
    metrics.add(each.skipped)
    return nil, "breaker open"
  end
  return ask(each, requests, deadline, began)
end

local warm_connections = 4

-- Whether one of the connections was made, and welcome.
local function connect_ahead(each, address)
  local threads, done = {}, false
  for i = 1, warm_connections do
    threads[i] = ngx.thread.spawn(each.store.warm, each.store, address)
  end
  for _, thread in ipairs(threads) do
    local _, reply = ngx.thread.wait(thread)
    done = done or reply and not (type(reply) == "table" and reply.error)
  end
  return done
end

local function warm(each)
  local address = connection.ahead(each.store.address, 2)
  each.warmed = connect_ahead(each, address)
  if each.warmed then
    connection.use(address)
  end
end

local function needs_warmth(each)
  return not each.warmed or each.breaker.failures > 0 or connection.is_old(each.store.address)
end

--- Makes connections ahead for stores that have none yet, that failed, or whose connections are old: a request's own deadline
-- may be too short for greeting a store that is far away.
function M.warm()
  for _, each in pairs(stores) do
    if each.store.warm and needs_warmth(each) then
      warm(each)
    end
  end
end

-- One at a time: the timer comes again while a purge is under way.
local function purge(each)
  if each.is_purged then
    return
  end
  each.is_purged = true
  local ok, _, is_more = pcall(each.store.purge, each.store)
  each.is_purged, each.purge_at = false, ok and is_more == true and 0 or clock.steady() + between_purges
end

-- A server that doesn't tell its settings is left alone.
local function check(each)
  local ok, wrong = pcall(each.store.check, each.store)
  if ok and wrong then
    ngx.log(ngx.WARN, "ratelimit: store ", each.name, ": ", wrong)
  end
end

--- Warns of stores that are set up so that they lose counts.
function M.check()
  for _, each in pairs(stores) do
    if each.store.check and not each.is_checked and each.warmed then
      each.is_checked = true
      check(each)
    end
  end
end

--- Lets stores that need it forget expired state.
function M.purge()
  for _, each in pairs(stores) do
    if each.store.purge then
      purge(each)
    end
  end
end

--- The same for those whose turn it is: once a minute, or, when there was more than one purge forgets, at once.
function M.purge_in_turn()
  for _, each in pairs(stores) do
    if each.store.purge and clock.steady() >= each.purge_at then
      purge(each)
    end
  end
end

return M
