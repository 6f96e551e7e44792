--- Whom a request concerns: the client under each limit that matches, its storage key, and the cost.

local arguments = require("ratelimit.arguments")
local counting = require("ratelimit.counting")
local headers = require("ratelimit.headers")
local keys = require("ratelimit.keys")
local lock = require("ratelimit.stores.lock")
local metrics = require("ratelimit.metrics")
local paths = require("ratelimit.paths")
local sources = require("ratelimit.sources")

local find, gmatch = string.find, string.gmatch

local M = {}

-- Headers, and the name in a query, by which a request says that it has another method than its own; frameworks hear them with
-- POST alone. Some take one of several between commas.
local overriding, overriding_in_query = { "x-http-method-override", "x-http-method", "x-method-override" }, "_method"

local function is_any_of(methods, said)
  for _, text in ipairs(said) do
    for word in gmatch(text, "[^,%s]+") do
      if methods[word:upper()] then
        return true
      end
    end
  end
  return false
end

local function has_method(methods, method)
  if methods[method] or method ~= "POST" then
    return methods[method] or false
  end
  for _, name in ipairs(overriding) do
    if is_any_of(methods, headers.values(name)) then
      return true
    end
  end
  return is_any_of(methods, arguments.query(ngx.var.args or "", overriding_in_query))
end

-- Whether a limit holds for the path and the method that the current request has to any server behind.
local function matches(limit, path, others, method)
  return (not limit.prefix or paths.is_under(path, others, limit.prefix, limit.ignore_case))
    and (not limit.methods or has_method(limit.methods, method))
end

--- Whether a limit holds for the current request.
function M.concerns(limit)
  if not limit.prefix and not limit.methods then
    return true
  end
  local path = ngx.var.uri
  return matches(limit, path, paths.others(path, ngx.var.request_uri, limit.differences), ngx.req.get_method())
end

--- The limits that hold for the current request.
function M.limits(rules)
  local list, path, method = {}, ngx.var.uri, ngx.req.get_method()
  local others = paths.others(path, ngx.var.request_uri, rules.differences)
  for _, limit in ipairs(rules.limits) do
    if matches(limit, path, others, method) then
      list[#list + 1] = limit
    end
  end
  return list
end

local function refusal(status, title, detail)
  return { status = status, title = title, detail = detail }
end

--- Why the target of the current request can't be told; nil when it can. nginx ends a target at `#`, which isn't allowed there
-- (RFC 9112, section 3.2), and sends all of it on; servers that read on have another path and other arguments.
function M.unclear_target(rules)
  if rules.binding and find(ngx.var.request_uri, "#", 1, true) then
    return refusal(400, "Ambiguous target", "The target of the request has a #; write it as %23.")
  end
end

local function ambiguous(limit)
  metrics.add(metrics.series("ratelimit_ambiguous_keys_total", "limit", limit.name))
  local detail = "The limit %s needs to know who is asking, and the request says it more than once."
  return refusal(400, "Ambiguous client key", detail:format(limit.name))
end

local keyless = "no-key"

-- The key of the request under a limit and where it comes from; or nil: not subject to it; or nil, nil and a refusal.
local function key_of(limit)
  local value, unclear, invalid = sources.key(limit)
  if value then
    return value, limit.source
  elseif unclear then
    return nil, nil, ambiguous(limit)
  elseif invalid and limit.invalid_token == "reject" then
    return nil, nil, refusal(400, "Invalid token", ("The limit %s can't read who is asking."):format(limit.name))
  end
  metrics.add(metrics.series("ratelimit_missing_keys_total", "limit", limit.name))
  if limit.missing_key == "address" then
    return sources.address(limit), keyless
  elseif limit.missing_key == "reject" then
    return nil, nil, refusal(400, "Missing client key", ("The limit %s needs to know who is asking."):format(limit.name))
  end
end

-- The limit with the numbers of the client's tier; or nil and a refusal. A client without a key is in no list.
local function tiered(limit, value, source)
  local tier, unclear = source ~= keyless and limit.clients[value] or nil, nil
  if not tier and limit.tier then
    tier, unclear = sources.read(limit.tier, limit.ambiguous_key)
  end
  if unclear then
    return nil, ambiguous(limit)
  end
  return tier and limit.by_tier[tier] or limit
end

local most_known = 10000

local function known_of(limit, source)
  local known = limit.known
  if not known or limit.known_count >= most_known then
    known = { [limit.source] = {}, [keyless] = {} }
    limit.known, limit.known_count = known, 0
  end
  return known[source]
end

-- What a key leads to under a limit: worked out once, remembered for the keys seen last.
local function known_subject(limit, value, source)
  local known = known_of(limit, source)
  if known[value] then
    return known[value]
  end
  local client = keys.client(source, value)
  local key = (limit.is_remote and keys.storage or keys.nearby)(limit, client)
  local found = {
    limit = limit,
    client = client,
    key = key,
    stripe = lock.stripe(key),
    cost = type(limit.cost) == "number" and limit.cost,
  }
  if #value <= 256 then
    known[value], limit.known_count = found, limit.known_count + 1
  end
  return found
end

local function with_cost(known, cost)
  return { limit = known.limit, client = known.client, key = known.key, stripe = known.stripe, cost = cost }
end

-- A shadow limit refuses no one.
local function refuse(limit, refused)
  return nil, limit.binding and refused or nil
end

-- What the lists of a limit say of a key: "exempt", "denied" or nothing.
local function listed(limit, value, source)
  if source == keyless then
    return nil
  end
  return limit.allow[value] and "exempt" or limit.deny[value] and "denied"
end

--- The client, its storage key and the cost of the current request under a limit; or nil: exempt; or nil and a refusal.
function M.one(limit)
  local value, source, refused = key_of(limit)
  if not value then
    return refuse(limit, refused)
  end
  local list = listed(limit, value, source)
  if list then
    counting.decision(limit, list)
    return refuse(limit, list == "denied" and refusal(403, "Denied", "This client may not use this service."))
  end
  local effective, unclear = tiered(limit, value, source)
  if not effective then
    return refuse(limit, unclear)
  end
  local known = known_subject(effective, value, source)
  return known.cost and known or with_cost(known, sources.cost(limit))
end

--- The subjects of the current request under all limits; or nil and a refusal.
function M.all(rules)
  local list = {}
  for _, limit in ipairs(M.limits(rules)) do
    local subject, refused = M.one(limit)
    if refused then
      return nil, refused
    end
    list[#list + 1] = subject
  end
  return list
end

return M
