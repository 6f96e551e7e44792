--- The values of a key's sources in the current request.
--
-- nginx's own variables for headers, arguments and cookies have the first of several values, in any case of the name and
-- undecoded; a server behind may read another one. So all values are read, and an ambiguous one counts as none.

local addresses = require("ratelimit.addresses")
local arguments = require("ratelimit.arguments")
local fields = require("ratelimit.fields")
local headers = require("ratelimit.headers")
local origins = require("ratelimit.origins")
local tokens = require("ratelimit.tokens")

local M = {}

local function header(name, rule)
  local value, has_more = headers.first(name)
  if has_more then
    return arguments.pick(headers.values(name), rule)
  end
  return value
end

local function claim_of(value, from, rule)
  local token, unclear = arguments.pick(tokens.within(value), rule)
  if not token then
    return nil, unclear
  end
  local claim, invalid = tokens.claim(token, from, ngx.time())
  return claim, nil, invalid
end

local readers = {
  header = function(from, rule)
    return header(from.header, rule)
  end,
  query = function(from, rule)
    return arguments.pick(arguments.query(ngx.var.args or "", from.name, from.ignore_case), rule)
  end,
  cookie = function(from, rule)
    return arguments.pick(arguments.cookie(headers.values("cookie"), from.name, from.ignore_case), rule)
  end,
  variable = function(from)
    return ngx.var[from.name]
  end,
  address = function(from)
    local text = ngx.var[from.variable or "remote_addr"]
    return text and addresses.key(text, from.ipv6_prefix)
  end,
  -- A target may name a host of its own next to the header's (RFC 9112, section 3.2.2), and servers take either.
  host = function(_, rule)
    local found = headers.values("host")
    for i, value in ipairs(found) do
      found[i] = fields.host(value)
    end
    found[#found + 1] = ngx.var.host
    return arguments.pick(found, rule)
  end,
  everyone = function()
    return "everyone"
  end,
  jwt = function(from, rule)
    local value, unclear = header(from.header, rule)
    if not value then
      return nil, unclear
    end
    return claim_of(value, from, rule)
  end,
}

-- Made once for each source of the rules.
local function prepare(from)
  local real = origins.real(from)
  if real.from == "header" or real.from == "jwt" then
    real.header = headers.name(real.name or "Authorization")
  end
  from.real = real
  return real
end

--- What one source says about the current request; nil when it says nothing.
-- @param rule which of several values counts: "first", "last", or "reject" for none
-- @return the value; or nil, true when the request has several and none counts, and true when it has a token that isn't valid
function M.read(from, rule)
  local real = from.real or prepare(from)
  local value, unclear, invalid = readers[real.from](real, rule)
  return value ~= "" and value or nil, unclear, invalid
end

--- The key of the current request for a limit, as its source tells it; or nil when a source is missing.
-- Several sources are joined with their lengths, so that no value can pretend to be two.
-- @return the key; or nil, true when a source has several values and it is not clear which counts, and true when a token isn't
-- valid
function M.key(limit)
  local list = limit.key
  if #list == 1 then
    return M.read(list[1], limit.ambiguous_key)
  end
  local parts = {}
  for i, from in ipairs(list) do
    local value, unclear, invalid = M.read(from, limit.ambiguous_key)
    if not value then
      return nil, unclear, invalid
    end
    parts[i] = #value .. ":" .. value
  end
  return table.concat(parts)
end

--- The key of a client that has only its address.
function M.address(limit)
  return readers.address(limit)
end

local function whole(text, most)
  local value = text:find("^%d+$") and #text <= 9 and tonumber(text)
  return value and value <= most and value
end

--- What the current request costs. What a client sends can't lower the cost below 1, and nonsense costs the most that is
-- allowed.
function M.cost(limit)
  local cost = limit.cost
  if type(cost) == "number" then
    return cost
  end
  local text, unclear = M.read(cost, "reject")
  if not text and not unclear then
    return cost.default
  end
  local value = text and whole(text, cost.most)
  if not value or value < (cost.real.from == "variable" and 0 or 1) then
    return cost.most
  end
  return value
end

return M
