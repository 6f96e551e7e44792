--- Who a request belongs to: reads the client's key, and makes any bytes harmless in a storage key.

local ffi = require("ffi")
local cjson = require("cjson.safe")
local crypto = require("ratelimit.wire.crypto")

local M = {}

ffi.cdef([[ size_t strspn(const char *text, const char *accepted); ]])

local plain_length = 64
local plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"

local function hex(bytes)
  return (bytes:gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

--- A name for a client of at most 64 safe characters: itself when it is short and plain, else a digest.
-- The two can't meet: only a digest contains a colon.
function M.client(value)
  -- Not a pattern: the compiler of LuaJIT knows C functions, and no patterns.
  if #value <= plain_length and value ~= "" and tonumber(ffi.C.strspn(value, plain)) == #value then
    return value
  end
  return "h:" .. hex(crypto.sha256(value):sub(1, 20))
end

--- The place of a limit's state; what is in braces decides the slot in a Redis Cluster.
function M.storage(limit, client)
  return "pb:{" .. client .. "}:" .. limit.tag
end

--- The same in shared memory, where every byte is hashed bit by bit: the tag's digest, always of one length, and the client.
function M.nearby(limit, client)
  return limit.digest .. client
end

local function decode(text)
  local base64 = text:gsub("-", "+"):gsub("_", "/")
  return ngx.decode_base64(base64 .. ("="):rep(-#base64 % 4))
end

-- The payload of a token whose signature (HS256) is right, or that nginx has verified before.
local function payload(token, from)
  local header, body, signature = token:match("^([%w_-]+)%.([%w_-]+)%.([%w_-]*)$")
  if not header then
    return nil
  end
  if not from.verified then
    local kind = cjson.decode(decode(header) or "")
    if type(kind) ~= "table" or kind.alg ~= "HS256" then
      return nil
    elseif not crypto.same(crypto.hmac_sha256(from.secret, header .. "." .. body), decode(signature) or "") then
      return nil
    end
  end
  local claims = cjson.decode(decode(body) or "")
  return type(claims) == "table" and claims or nil
end

local function fresh(claims, now)
  local expiry = claims.exp
  return type(expiry) ~= "number" or expiry > now
end

local function claim(from)
  local value = ngx.var["http_" .. (from.name or "Authorization"):lower():gsub("-", "_")]
  local token = value and (value:match("^[Bb]earer%s+(.+)$") or value)
  local claims = token and payload(token, from)
  local found = claims and fresh(claims, ngx.time()) and claims[from.claim]
  return (type(found) == "string" or type(found) == "number") and tostring(found) or nil
end

local readers = {
  header = function(from)
    return ngx.var[from.variable]
  end,
  query = function(from)
    local value = ngx.var["arg_" .. from.name]
    return value and ngx.unescape_uri(value)
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
  jwt = claim,
}

--- What one source says about the current request; nil when it says nothing.
function M.read(from)
  if from.from == "header" and not from.variable then
    from.variable = "http_" .. from.name:lower():gsub("-", "_")
  end
  local value = readers[from.from](from)
  return value ~= "" and value or nil
end

--- The key of the current request for a limit: the raw value, or nil when a source is missing.
-- Several sources are joined with their lengths, so that no value can pretend to be two.
function M.key(limit)
  local sources = limit.key
  if #sources == 1 then
    return M.read(sources[1])
  end
  local parts = {}
  for i, from in ipairs(sources) do
    local value = M.read(from)
    if not value then
      return nil
    end
    parts[i] = #value .. ":" .. value
  end
  return table.concat(parts)
end

local function whole(text, most)
  local value = text:find("^%d+$") and #text <= 9 and tonumber(text)
  return value and value <= most and value
end

--- What the current request costs. A header can't lower the cost below 1, and nonsense costs the most that is allowed.
function M.cost(limit)
  local cost = limit.cost
  if type(cost) == "number" then
    return cost
  end
  local text = M.read(cost)
  if not text then
    return cost.default
  end
  local value = whole(text, cost.most)
  if not value or value < (cost.from == "header" and 1 or 0) then
    return cost.most
  end
  return value
end

return M
