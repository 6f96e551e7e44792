--- What a JSON Web Token claims: HS256 (RFC 7515, RFC 7519), or a token that nginx has verified before.

local cjson = require("cjson.safe")
local crypto = require("ratelimit.wire.crypto")

local find, gmatch, gsub, match, sub = string.find, string.gmatch, string.gsub, string.match, string.sub

local M = {}

-- A double holds every number of fifteen digits; longer ones are kept as they are written, as texts.
local exact_digits = 15

-- Base64 of either alphabet. Other characters are left out, as many servers do: a signature has any number of spellings.
local function decode(text)
  local base64 = gsub(text, "[^%w_+/-]", ""):gsub("-", "+"):gsub("_", "/")
  return ngx.decode_base64(base64 .. ("="):rep(-#base64 % 4)) or ""
end

local function keep(number)
  return #number > exact_digits and '"' .. number .. '"' or number
end

-- Where the text that begins at `from` in JSON ends.
local function end_of_text(json, from)
  local at = from
  repeat
    at = find(json, '["\\]', at + 1)
    if at and sub(json, at, at) == "\\" then
      at = at + 1
    elseif at then
      return at
    end
  until not at
  return #json
end

--- JSON in which no number loses a digit when it is decoded.
function M.keep_digits(json)
  local parts, at = {}, 1
  while at <= #json do
    local quote = find(json, '"', at, true) or #json + 1
    parts[#parts + 1] = gsub(sub(json, at, quote - 1), "%-?%d[%d%.eE+-]*", keep)
    local stop = quote <= #json and end_of_text(json, quote) or quote
    parts[#parts + 1] = sub(json, quote, stop)
    at = stop + 1
  end
  return table.concat(parts)
end

local function object(text)
  local value = cjson.decode(text)
  return type(value) == "table" and value or nil
end

-- `crit` names extensions that a reader must know (RFC 7515, section 4.1.11); this one knows none.
local function is_signed(header, signed, signature, secret)
  local kind = object(decode(header))
  return kind
    and kind.alg == "HS256"
    and kind.crit == nil
    and crypto.same(crypto.hmac_sha256(secret, signed), decode(signature))
end

local function is_after(moment, now)
  return moment == nil or type(moment) == "number" and moment > now
end

local function is_reached(moment, now)
  return moment == nil or type(moment) == "number" and moment <= now
end

--- Whether claims hold at `now` (seconds since 1970): `exp` and `nbf`, if there, are numbers, as RFC 7519 wants.
-- @param leeway seconds by which the clocks of issuer, server and balancer may differ
function M.holds(claims, now, leeway)
  return is_after(claims.exp, now - leeway) and is_reached(claims.nbf, now + leeway)
end

-- The claims that say when, as numbers: their digits need not be kept, and a time in fractions of a second has many.
local function times(json, claims)
  if type(claims.exp) == "string" or type(claims.nbf) == "string" then
    return object(json) or claims
  end
  return claims
end

local function written(value)
  if type(value) == "number" then
    return value == math.floor(value) and ("%.0f"):format(value) or ("%.17g"):format(value)
  end
  return type(value) == "string" and value or nil
end

--- What could be tokens in the value of a header, whatever scheme and quotes are around: its words of three parts.
function M.within(text)
  local list = {}
  for word in gmatch(text, "[^%s,;\"']+") do
    list[#list + 1] = match(word, "^[%w_-]+=*%.[%w_-]+=*%.[^.]*$")
  end
  return list
end

--- The claim that `from` names in a token that holds at `now`, as text; nil when there is none.
-- @return the claim; or nil, and true when the token isn't one that holds
function M.claim(token, from, now)
  local signed, signature = match(token, "^(.*)%.([^.]*)$")
  local header, body = match(signed or "", "^([%w_-]+)=*%.([%w_-]+)=*$")
  if not header or not from.verified and not is_signed(header, signed, signature, from.secret) then
    return nil, true
  end
  local json = decode(body)
  local claims = object(M.keep_digits(json))
  if not claims or not M.holds(times(json, claims), now, (from.leeway or 0) / 1e6) then
    return nil, true
  end
  return written(claims[from.claim])
end

return M
