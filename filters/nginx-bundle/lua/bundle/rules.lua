--- Reads the rules: which requests are bundled, how many, and how long the first one waits. Lists all that is wrong with them.
--
-- Pure. `contracts/bundle/rules.schema.json` describes the file.

local identity = require("bundle.identity")
local json = require("cjson.safe").new()
local routes = require("bundle.routes")

local M = {}

local units = { us = 1e-6, ms = 1e-3, s = 1 }
local longest_wait = 10

local function wrong(problems, path, allowed)
  problems[#problems + 1] = ("%s: must be %s"):format(path, allowed)
end

local function is_object(value)
  return type(value) == "table" and (next(value) == nil or #value == 0)
end

local function refuse_unknown(value, fields, path, problems)
  local allowed = table.concat(fields, ", ")
  for name in pairs(value) do
    if not (", " .. allowed .. ", "):find(", " .. tostring(name) .. ", ", 1, true) then
      wrong(problems, path .. tostring(name), "left out; allowed: " .. allowed)
    end
  end
end

local function whole(value, least, most, path, problems)
  if type(value) == "number" and value % 1 == 0 and value >= least and value <= most then
    return value
  end
  wrong(problems, path, ("a whole number from %d to %d"):format(least, most))
end

-- A duration in seconds.
local function duration(value, most, path, problems)
  local number, unit = tostring(value):match("^(%d+%.?%d*)(%a+)$")
  local seconds = units[unit] and tonumber(number) * units[unit]
  if seconds and seconds >= 1e-3 and seconds <= most then
    return seconds
  end
  wrong(problems, path, ('a duration from "1ms" to "%ds", such as "5ms"'):format(most))
end

-- A path with one placeholder, of characters that match a pattern.
local function path_with(placeholder, characters, value, path, problems)
  local rest, count = tostring(value):gsub(placeholder, "")
  if type(value) == "string" and rest:find("^/" .. characters .. "*$") and count == 1 then
    return value
  end
  wrong(problems, path, ("a path from / on, with %s in it once"):format(placeholder))
end

local function header_names(value, path, problems)
  local good = type(value) == "table" and #value > 0
  for _, name in ipairs(good and value or {}) do
    good = good and type(name) == "string" and (name:find("^[%w-]+$") or name:find("^%$[%a_][%w_]*$"))
  end
  if good then
    return value
  end
  wrong(problems, path, 'a list of headers and variables of nginx, such as ["Authorization", "$remote_addr"]')
end

local route_fields = { "single", "bundle", "size", "wait", "per" }

local function route(value, path, problems)
  if not is_object(value) then
    return wrong(problems, path, "an object with " .. table.concat(route_fields, ", "))
  end
  refuse_unknown(value, route_fields, path .. ".", problems)
  return {
    single = path_with("{id}", "[^{}%s?#]", value.single, path .. ".single", problems),
    bundle = path_with("{ids}", "[^{}%s#]", value.bundle, path .. ".bundle", problems),
    size = whole(value.size, 2, 1000, path .. ".size", problems),
    wait = duration(value.wait, longest_wait, path .. ".wait", problems),
    per = header_names(value.per or { "Authorization" }, path .. ".per", problems),
  }
end

-- What a request needs of a route, worked out once.
local function compiled(checked)
  checked.before, checked.after = routes.split(checked.single, "{id}")
  checked.bundle_before, checked.bundle_after = routes.split(checked.bundle, "{ids}")
  checked.headers = identity.headers(checked.per)
  return checked
end

local function checked_routes(value, problems)
  if type(value) ~= "table" or #value == 0 then
    wrong(problems, "routes", "a list of at least one")
    return {}
  end
  local list = {}
  for i, one in ipairs(value) do
    list[i] = route(one, ("routes[%d]"):format(i - 1), problems)
  end
  return list
end

local rule_fields = { "version", "change", "routes", "timeout", "most_waiting" }

--- Parses the text of rules.
-- @return the rules (durations in seconds), or nil and a list of problems, each with its place
function M.parse(text)
  local value, err = json.decode(text)
  if not is_object(value) then
    return nil, { "the rules: must be a JSON object" .. (err and ", and is not JSON: " .. err or "") }
  end
  local problems = {}
  refuse_unknown(value, rule_fields, "", problems)
  if value.version ~= 1 then
    wrong(problems, "version", "1")
  end
  local rules = {
    change = tostring(value.change or ""),
    routes = checked_routes(value.routes, problems),
    timeout = duration(value.timeout or "60s", 3600, "timeout", problems),
    most_waiting = whole(value.most_waiting or 1000, 1, 100000, "most_waiting", problems),
  }
  if problems[1] then
    return nil, problems
  end
  for _, one in ipairs(rules.routes) do
    compiled(one)
  end
  return rules
end

return M
