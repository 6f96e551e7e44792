--- What a query string or a Cookie header gives to a name, exactly; and whether a server behind could read something else.
--
-- Names and values are percent-decoded. Servers differ: PHP takes `a.b` and ` a_b` for `a_b`, and `a[]` for a list; some end a
-- query's part at `;` too, or a cookie at `,`; some take the first of several values, some the last. Whoever can make
-- two of them read two keys has none of their limits, so what can be read in two ways is said to be `odd`.
-- Pure: no clock, no I/O.

local find, gsub, match, sub = string.find, string.gsub, string.match, string.sub

local M = {}

local function character(digits)
  return string.char(tonumber(digits, 16))
end

local function unescape(text)
  return find(text, "%", 1, true) and gsub(text, "%%(%x%x)", character) or text
end

local function unescape_query(text)
  return unescape(find(text, "+", 1, true) and gsub(text, "+", " ") or text)
end

-- Quotes around a cookie's value aren't part of it.
local function unescape_cookie(text)
  return unescape(match(text, '^"(.*)"$') or text)
end

-- The name as the most lenient server reads it.
local function lenient(name)
  return (gsub(match(name, "^%s*([^%[%z]*)"), "[%. ]", "_"))
end

local function add(found, part, name, of)
  local equals = find(part, "=", 1, true)
  local key = of.unescape(equals and sub(part, 1, equals - 1) or part)
  key = of.ignore_case and key:lower() or key
  if key == name then
    found[#found + 1] = equals and of.unescape(sub(part, equals + 1)) or ""
  elseif lenient(key) == lenient(name) then
    found.odd = true
  end
end

-- The values of `name` in the parts of `text` between separators (a pattern).
local function values(text, separator, name, of)
  local found, at = {}, 1
  repeat
    local from, to = find(text, separator, at)
    add(found, of.trim and match(sub(text, at, (from or 0) - 1), "^%s*(.-)%s*$") or sub(text, at, (from or 0) - 1), name, of)
    at = (to or 0) + 1
  until not from
  return found
end

local function are_alike(one, other)
  for i = 1, math.max(#one, #other) do
    if one[i] ~= other[i] then
      return false
    end
  end
  return true
end

local function read(text, name, of)
  name = of.ignore_case and name:lower() or name
  local found = values(text, of.separator, name, of)
  if find(text, of.also, 1, true) then
    local other = values(text, of.either, name, of)
    found.odd = found.odd or other.odd or not are_alike(found, other)
  end
  return found
end

local function kind(separator, also, unescape_value, trim)
  local exact = {
    separator = separator,
    also = also,
    either = "[" .. separator .. also .. "]",
    unescape = unescape_value,
    trim = trim,
  }
  return { [false] = exact, [true] = setmetatable({ ignore_case = true }, { __index = exact }) }
end

local query, cookie = kind("&", ";", unescape_query), kind(";", ",", unescape_cookie, true)

--- The values of `name` in a query string, in their order; field `odd`: a server could read others.
function M.query(text, name, ignore_case)
  return read(text, name, query[ignore_case or false])
end

--- The same for Cookie headers: a list of their values.
function M.cookie(headers, name, ignore_case)
  local found = read(table.concat(headers, ";"), name, cookie[ignore_case or false])
  for _, value in ipairs(found) do
    found.odd = found.odd or find(value, "\\", 1, true) ~= nil
  end
  return found
end

--- One of several values by `rule`: "first", "last", or "reject", which takes none of two different values.
-- @return the value, or nil when there is none; or nil and true when it is not clear which
function M.pick(found, rule)
  if rule == "first" then
    return found[1]
  elseif rule == "last" then
    return found[#found]
  end
  for i = 2, #found do
    if found[i] ~= found[1] then
      return nil, true
    end
  end
  if found.odd then
    return nil, true
  end
  return found[1]
end

return M
