--- Checks a decoded JSON value against a described shape, and lists every problem with its place.
--
-- A problem is { path, value, message }. Shapes are functions `(value, path, problems) -> parsed value or nil`.
-- Pure: no clock, no I/O.

local cjson = require("cjson.safe")

local M = {}

local null = cjson.null

local function shown(value)
  if value == nil then
    return "nothing"
  end
  local text = cjson.encode(value) or tostring(value)
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

--- Adds a problem; returns nil, so that a shape can end with it.
function M.problem(problems, path, value, message)
  problems[#problems + 1] = { path = path, value = value, message = message }
end

--- The problems for people to read, one per line.
function M.describe(problems)
  local lines = {}
  for i, each in ipairs(problems) do
    lines[i] = ("%s: %s (found %s)"):format(each.path == "" and "the rules" or each.path, each.message, shown(each.value))
  end
  return table.concat(lines, "\n")
end

--- A string that matches a pattern; `allowed` says what it may be.
function M.text(pattern, allowed)
  return function(value, path, problems)
    if type(value) == "string" and value:find(pattern) then
      return value
    end
    return M.problem(problems, path, value, "must be " .. allowed)
  end
end

M.any_text = M.text("^.+$", "a text that is not empty")

--- One of a list of words.
function M.word(...)
  local words, known = { ... }, {}
  for _, word in ipairs(words) do
    known[word] = true
  end
  return function(value, path, problems)
    if type(value) == "string" and known[value] then
      return value
    end
    return M.problem(problems, path, value, "must be one of " .. table.concat(words, ", "))
  end
end

function M.boolean(value, path, problems)
  if type(value) == "boolean" then
    return value
  end
  return M.problem(problems, path, value, "must be true or false")
end

--- A whole number from `least` to `most`.
function M.whole(least, most)
  return function(value, path, problems)
    if type(value) == "number" and value == math.floor(value) and value >= least and value <= most then
      return value
    end
    return M.problem(problems, path, value, ("must be a whole number from %.0f to %.0f"):format(least, most))
  end
end

--- A number above 0 and at most 1.
function M.share(value, path, problems)
  if type(value) == "number" and value > 0 and value <= 1 then
    return value
  end
  return M.problem(problems, path, value, "must be a number above 0 and at most 1")
end

-- Microseconds of a unit: a whole number, and how many noughts follow it.
local units = { us = { 1, 0 }, ms = { 1, 3 }, s = { 1, 6 }, m = { 6, 7 }, h = { 36, 8 }, d = { 864, 8 } }
local most_digits = 12

-- What digits behind the point are worth; nil when that isn't a whole number. No product reaches 2^53, so none is rounded:
-- 8.2 times a million is 8199999.999999999 in floating point.
local function behind_the_point(digits, unit)
  local counted = digits:match("^(.-)0*$")
  if #counted > most_digits then
    return nil
  end
  local noughts = unit[2] - #counted
  local value = counted == "" and 0 or tonumber(counted) * unit[1]
  if noughts >= 0 then
    return value * 10 ^ noughts
  end
  return value % 10 ^ -noughts == 0 and value / 10 ^ -noughts or nil
end

--- The microseconds of a duration such as "1.5s", exactly; nil for other texts, and for those that aren't whole.
function M.microseconds(text)
  local whole, fraction, name = text:match("^(%d+)%.?(%d*)(%a+)$")
  local unit = units[name]
  if not unit or #whole > most_digits then
    return nil
  end
  local rest = behind_the_point(fraction, unit)
  return rest and tonumber(whole) * unit[1] * 10 ^ unit[2] + rest
end

--- A duration such as "50ms" or "60s", in microseconds, between two others.
function M.duration(least, most)
  local low, high = M.microseconds(least), M.microseconds(most)
  return function(value, path, problems)
    local parsed = type(value) == "string" and M.microseconds(value)
    if parsed and parsed >= low and parsed <= high then
      return parsed
    end
    return M.problem(problems, path, value, ('must be a duration from "%s" to "%s", such as "50ms" or "60s"'):format(least, most))
  end
end

local function is_list(value)
  return type(value) == "table" and (#value > 0 or next(value) == nil)
end

--- A list of things of one shape.
function M.list(item, least)
  return function(value, path, problems)
    if not is_list(value) or #value < (least or 0) then
      return M.problem(problems, path, value, "must be a list of at least " .. (least or 0))
    end
    local out = {}
    for i, each in ipairs(value) do
      out[i] = item(each, ("%s[%d]"):format(path, i - 1), problems)
    end
    return out
  end
end

local function is_object(value)
  return type(value) == "table" and value ~= null and (next(value) == nil or #value == 0)
end

--- An object whose names match a pattern and whose values have one shape.
function M.map(name, allowed, item)
  return function(value, path, problems)
    if not is_object(value) then
      return M.problem(problems, path, value, "must be an object")
    end
    local out = {}
    for key, each in pairs(value) do
      local place = path == "" and key or path .. "." .. key
      if not key:find(name) then
        M.problem(problems, place, key, "a name must be " .. allowed)
      end
      out[key] = item(each, place, problems)
    end
    return out
  end
end

--- Either of two shapes: the one for objects, or the other.
function M.either(object, other)
  return function(value, path, problems)
    return (is_object(value) and object or other)(value, path, problems)
  end
end

local function names(fields)
  local list = {}
  for name in pairs(fields) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, ", ")
end

local function unknown(fields, value, path, problems)
  local list = {}
  for key in pairs(value) do
    list[#list + 1] = tostring(key)
  end
  table.sort(list)
  for _, key in ipairs(list) do
    if not fields[key] then
      M.problem(problems, path == "" and key or path .. "." .. key, value[key], "unknown key; allowed: " .. names(fields))
    end
  end
end

--- An object with known fields: { name = { shape, default = value, required = true } }.
function M.object(fields)
  return function(value, path, problems)
    if not is_object(value) then
      return M.problem(problems, path, value, "must be an object with " .. names(fields))
    end
    unknown(fields, value, path, problems)
    local out = {}
    for name, field in pairs(fields) do
      local place = path == "" and name or path .. "." .. name
      if value[name] ~= nil then
        out[name] = field[1](value[name], place, problems)
      elseif field.required then
        M.problem(problems, place, nil, "is missing")
      else
        out[name] = field.default
      end
    end
    return out
  end
end

return M
