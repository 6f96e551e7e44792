-- Feeds each parser of a client's bytes with its worst text of 2, 4 and 8 KB. Under callgrind a call of `getppid` ends
-- a part of the profile, so each part has the instructions of one parser and one size. Prints their names, in order.

local ffi = require("ffi")
ffi.cdef("int getppid(void);")
require("ratelimit.offline.world")
local addresses = require("ratelimit.addresses")
local arguments = require("ratelimit.arguments")
local fields = require("ratelimit.fields")
local keys = require("ratelimit.keys")
local paths = require("ratelimit.paths")
local tokens = require("ratelimit.tokens")

local everywhere = paths.differences(paths.names)
local search = fields.searching(function(key, name)
  return key == name
end)
local verified = { claim = "sub", verified = true }

local function query(text)
  return arguments.pick(arguments.query(text, "token"), "reject")
end

local function cookie(text)
  return arguments.pick(arguments.cookie({ text }, "session"), "reject")
end

local function path(text)
  return paths.is_under("/", paths.others("/", text, everywhere), "/login", true)
end

local function token(text)
  local found = arguments.pick(tokens.within(text), "first")
  return found and tokens.claim(found, verified, 0)
end

local function address(text)
  return addresses.key(text, 64)
end

-- All headers of a name, as the filter finds them: one after another.
local function headers(text)
  local list, count, at = {}, 0, -1
  for name in text:gmatch("[^:]+") do
    list[count], count = { key = name }, count + 1
  end
  repeat
    at = search(list, count, "a", at + 1)
  until at < 0
end

local function filled(unit, before, after)
  return function(size)
    return (before or "") .. unit:rep(math.ceil(size / #unit)) .. (after or "")
  end
end

local cases = {
  { "header: blanks", fields.trimmed, filled(" ") },
  { "header: blanks within", fields.trimmed, filled(" ", "x", "y") },
  { "header: tabs behind", fields.trimmed, filled("\t", "x") },
  { "headers: of one name", headers, filled("a:") },
  { "host: dots", fields.host, filled(".") },
  { "host: brackets", fields.host, filled("[") },
  { "query: &", query, filled("&") },
  { "query: blanks at the end", query, filled("\160", "token=x") },
  { "query: &;", query, filled("&;") },
  { "query: names", query, filled("token&") },
  { "query: escapes", query, filled("%74oken=%72&") },
  { "query: blanks", query, filled("+", "", "token") },
  { "query: brackets", query, filled("[", "token") },
  { "query: almost", query, filled("token.&;") },
  { "cookie: ;", cookie, filled(";") },
  { "cookie: ;,", cookie, filled(";,") },
  { "cookie: blanks within", cookie, filled(" ", "x", "y") },
  { "cookie: blanks alone", cookie, filled(" ") },
  { "cookie: blanks in the name", cookie, filled(" ", "s", "ession=x") },
  { "cookie: quotes", cookie, filled('"', "session=") },
  { "path: dots", path, filled("/..;") },
  { "path: up", path, filled("/a/..") },
  { "path: slashes", path, filled("/") },
  { "path: backslashes", path, filled("\\", "/") },
  { "path: escapes", path, filled("%2e", "/") },
  { "path: parameters", path, filled(";", "/") },
  { "path: blanks at the end", path, filled("\160", "/") },
  { "path: blanks within", path, filled("\160", "/", "x") },
  { "token: blanks", token, filled(" ", "Bearer", "a") },
  { "token: words", token, filled("a.b.c ") },
  { "token: dots", token, filled(".") },
  { "token: one part", token, filled("a") },
  { "token: padding", token, filled("=", "a.b") },
  { "token: numbers", tokens.keep_digits, filled("-") },
  { "token: backslashes", tokens.keep_digits, filled('\\"', '"') },
  { "key: any bytes", keys.harmless, filled("\255") },
  { "address: colons", address, filled(":") },
}

for _, case in ipairs(cases) do
  case[2](case[3](64))
  for _, size in ipairs({ 2048, 4096, 8192 }) do
    local text = case[3](size)
    collectgarbage()
    collectgarbage("stop")
    ffi.C.getppid()
    case[2](text)
    ffi.C.getppid()
    collectgarbage("restart")
    print(case[1])
  end
end
