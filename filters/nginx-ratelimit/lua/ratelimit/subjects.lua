--- Whom a request concerns: the client under each limit that matches, its storage key, and the cost.

local counting = require("ratelimit.counting")
local keys = require("ratelimit.keys")
local lock = require("ratelimit.stores.lock")
local metrics = require("ratelimit.metrics")

local M = {}

--- Whether a limit holds for a path and a method.
function M.matches(limit, uri, method)
  return (not limit.prefix or uri:sub(1, #limit.prefix) == limit.prefix) and (not limit.methods or limit.methods[method])
end

local function tiered(limit, value)
  local tier = limit.clients[value] or limit.tier and keys.read(limit.tier)
  return tier and limit.by_tier[tier] or limit
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
  local key = (limit.is_remote and keys.storage or keys.nearby)(limit, client)
  local found = {
    limit = limit, client = client, key = key, stripe = lock.stripe(key), cost = type(limit.cost) == "number" and limit.cost,
  }
  if #value <= 256 then
    known[value], limit.known_count = found, limit.known_count + 1
  end
  return found
end

local function with_cost(known, cost)
  return { limit = known.limit, client = known.client, key = known.key, stripe = known.stripe, cost = cost }
end

--- The client, its storage key and the cost of the current request under a limit; or nil: exempt; or nil and a refusal.
function M.one(limit)
  local value, refused = key_of(limit)
  if not value then
    return nil, refused
  elseif limit.allow[value] then
    counting.decision(limit, "exempt")
    return nil
  elseif limit.deny[value] then
    counting.decision(limit, "denied")
    return nil, refusal(403, "Denied", "This client may not use this service.")
  end
  local effective = tiered(limit, value)
  local known = effective.known and effective.known[value] or known_subject(effective, value)
  return known.cost and known or with_cost(known, keys.cost(limit))
end

--- The subjects of the current request under all limits; or nil and a refusal.
function M.all(plan)
  local uri, method, list = ngx.var.uri, ngx.req.get_method(), {}
  for _, limit in ipairs(plan.limits) do
    if M.matches(limit, uri, method) then
      local subject, refused = M.one(limit)
      if refused then
        return nil, refused
      end
      list[#list + 1] = subject
    end
  end
  return list
end

return M
