--- Asks a store, behind its breaker, and counts how that went.

local breaker = require("ratelimit.breaker")
local clock = require("ratelimit.clock")
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

--- Makes the stores of the rules ready; a breaker outlives a reload.
function M.prepare(rules)
  local old = stores
  stores = {}
  for name, config in pairs(rules.stores) do
    local store, err = kinds[config.kind].new({ address = config.address, timeout = config.timeout_seconds })
    if not store then
      error(("ratelimit: store %s %s"):format(name, err), 0)
    end
    stores[name] = {
      store = store,
      breaker = old[name] and old[name].breaker or breaker.new(config.breaker),
      histogram = metrics.histogram(name),
      skipped = metrics.series("ratelimit_store_skipped_total", "store", name),
      name = name,
      is_remote = config.kind ~= "memory",
    }
    metrics.add(stores[name].skipped, 0)
  end
end

--- Whether a store is well and has merely not come to a key, because many ask for that one.
function M.is_busy(err)
  return err == lines.busy
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

-- What a remote server sends may hold surprises; shared memory does not, and is asked too often to wrap the call.
local function decide(each, requests)
  if not each.is_remote then
    return each.store:decide(requests)
  end
  local ok, answers, err = pcall(each.store.decide, each.store, requests)
  return ok and answers or nil, ok and err or answers
end

--- Asks `name` to decide `requests` together: answers, or nil and a reason. Never takes longer than the store's timeout.
function M.ask(name, requests)
  local each, began = stores[name], clock.steady()
  if not each then
    return nil, "the store has left the rules"
  end
  if not each.breaker:allows(began) then
    metrics.add(each.skipped)
    return nil, "breaker open"
  end
  local answers, err = decide(each, requests)
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

local warm_connections = 4

local function warm(each)
  local threads = {}
  for i = 1, warm_connections do
    threads[i] = ngx.thread.spawn(each.store.warm, each.store)
  end
  local done
  for _, thread in ipairs(threads) do
    local _, reply = ngx.thread.wait(thread)
    done = done or reply
  end
  each.warmed = done
end

--- Makes connections ahead for stores that have none yet or that failed: a request's own deadline may be too short for
-- greeting a store that is far away.
function M.warm()
  for _, each in pairs(stores) do
    if each.store.warm and (not each.warmed or each.breaker.failures > 0) then
      warm(each)
    end
  end
end

--- Lets stores that need it forget expired state.
function M.purge()
  for _, each in pairs(stores) do
    if each.store.purge then
      each.store:purge()
    end
  end
end

return M
