--- What of a request a source of the rules really reads, and which texts can be a key that comes from there.
--
-- nginx's variables for headers, arguments, cookies, hosts and addresses are read like the sources that they stand for.
-- Pure: no clock, no I/O.

local addresses = require("ratelimit.addresses")
local fields = require("ratelimit.fields")

local M = {}

local prefixes = { http_ = "header", arg_ = "query", cookie_ = "cookie" }
-- nginx's variables of addresses, and which of them has it in words.
local addressing = {
  remote_addr = "remote_addr",
  binary_remote_addr = "remote_addr",
  realip_remote_addr = "realip_remote_addr",
  proxy_protocol_addr = "proxy_protocol_addr",
}

local function of_variable(from)
  if addressing[from.name] then
    return { from = "address", variable = addressing[from.name], ipv6_prefix = from.ipv6_prefix }
  end
  for prefix, kind in pairs(prefixes) do
    local name = from.name:lower():match("^" .. prefix .. "(.+)$")
    if name then
      return { from = kind, name = name, ignore_case = true }
    end
  end
  return from
end

-- The header, and nginx's variable that is the target's host or the header's.
local function of_host(from)
  local is_header = from.from == "header" and from.name and fields.name(from.name) == "host"
  return (is_header or from.from == "variable" and from.name == "host") and { from = "host" } or from
end

--- The source that is read for one of the rules.
function M.real(from)
  return of_host(from.from == "variable" and from.name and of_variable(from) or from)
end

local allowed = {
  address = function(text, prefix)
    local key = addresses.listed(text, prefix)
    return key, not key and ('write an address such as "192.0.2.1", or a network such as "2001:db8::/%d"'):format(prefix)
  end,
  header = function(text)
    return text, fields.trimmed(text) ~= text and ('blanks around a value are left out: write "%s"'):format(fields.trimmed(text))
  end,
  host = function(text)
    return text, fields.host(text) ~= text and ('hosts have small letters and no port: write "%s"'):format(fields.host(text))
  end,
  everyone = function(text)
    return text, text ~= "everyone" and 'all have one: write "everyone"'
  end,
}

-- Whether a text consists of `count` values, each behind its length and a colon.
local function has_parts(text, count)
  for _ = 1, count do
    local length, from = text:match("^(%d+):()")
    if not length or #text - from + 1 < tonumber(length) then
      return false
    end
    text = text:sub(from + tonumber(length))
  end
  return text == ""
end

--- The key that a text in a list of the rules stands for, and nil or what to write as no client can have it.
-- @param sources of the limit's key
-- @param prefix how many bits of an IPv6 address are a client's
function M.listed(text, sources, prefix)
  if #sources > 1 then
    local is_one = has_parts(text, #sources)
    return text, not is_one and 'write each value behind its length and a colon: "3:ann4:shop" for ann and shop' or nil
  end
  local check = allowed[M.real(sources[1]).from]
  if not check then
    return text
  end
  local key, why = check(text, prefix)
  return key, why or nil
end

return M
