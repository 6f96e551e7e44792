--- The values of a key's sources in the current request.
--
-- nginx's own variables for headers, arguments and cookies have the first of several values, in any case of the name and
-- undecoded; a server behind may read another one. So all values are read, and an ambiguous one counts as none.

local arguments = require("ratelimit.arguments")
local headers = require("ratelimit.headers")
local tokens = require("ratelimit.tokens")

local M = {}

local function header(name, rule)
  local value, has_more = headers.first(name)
  if has_more then
    return arguments.pick(headers.values(name), rule)
  end
  return value
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
  address = function()
    return ngx.var.remote_addr
  end,
  everyone = function()
    return "everyone"
  end,
  jwt = function(from, rule)
    local value, unclear = header(from.header, rule)
    local token = value and (value:match("^[Bb][Ee][Aa][Rr][Ee][Rr]%s+(.+)$") or value)
    return token and tokens.claim(token, from, ngx.time()), unclear
  end,
}

local prefixes = { http_ = "header", arg_ = "query", cookie_ = "cookie" }

-- nginx's variables `http_*`, `arg_*` and `cookie_*` are read like the sources that they stand for.
local function of_variable(from)
  for prefix, kind in pairs(prefixes) do
    local name = from.name:lower():match("^" .. prefix .. "(.+)$")
    if name then
      return { from = kind, name = name, ignore_case = true }
    end
  end
  return from
end

-- Made once for each source of the rules.
local function prepare(from)
  local real = from.from == "variable" and of_variable(from) or from
  if real.from == "header" or real.from == "jwt" then
    real.header = headers.name(real.name or "Authorization")
  end
  from.real = real
  return real
end

--- What one source says about the current request; nil when it says nothing.
-- @param rule which of several values counts: "first", "last", or "reject" for none
-- @return the value; or nil, and true when the request has several and none counts
function M.read(from, rule)
  local real = from.real or prepare(from)
  local value, unclear = readers[real.from](real, rule)
  return value ~= "" and value or nil, unclear
end

--- The key of the current request for a limit, as its source tells it; or nil when a source is missing.
-- Several sources are joined with their lengths, so that no value can pretend to be two.
-- @return the key; or nil, and true when a source has several values and it is not clear which counts
function M.key(limit)
  local list = limit.key
  if #list == 1 then
    return M.read(list[1], limit.ambiguous_key)
  end
  local parts = {}
  for i, from in ipairs(list) do
    local value, unclear = M.read(from, limit.ambiguous_key)
    if not value then
      return nil, unclear
    end
    parts[i] = #value .. ":" .. value
  end
  return table.concat(parts)
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
