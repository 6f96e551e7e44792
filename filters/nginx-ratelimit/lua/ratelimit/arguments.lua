--- What a query string or a Cookie header gives to a name, exactly; and whether a server behind could read something else.
--
-- Names and values are percent-decoded. Servers differ: PHP takes `a.b`, ` a_b` and `a[b` for `a_b`, and `a[]` for a list; some
-- end a query's part at `;` too, or a cookie at `,`; some leave out blanks at the end of a target; some take the first of several
-- values, some the last. A client that can make two of them read two keys escapes their limits, so what can be read in two ways
-- is said to be `odd`.
-- Linear in the text, and cheap for the parts that can't be the one that is looked for: they are never cut out.
-- Pure: no clock, no I/O.

local fields = require("ratelimit.fields")
local paths = require("ratelimit.paths")

local byte, find, gsub, lower, match, sub = string.byte, string.find, string.gsub, string.lower, string.match, string.sub

local M = {}

local equals_sign, space, none = byte("="), byte(" "), -1

local function unescape_query(text)
  return paths.decoded(find(text, "+", 1, true) and gsub(text, "+", " ") or text)
end

-- Quotes around a cookie's value aren't part of it.
local function unescape_cookie(text)
  return paths.decoded(match(text, '^"(.*)"$') or text)
end

-- The name as PHP registers it (php_register_variable_ex): blanks before it are left out, and a `[` that is never closed is a
-- character like `.`. One that is closed begins an index.
local function lenient(name)
  local plain = match(name, "^%s*([^%z]*)")
  local open = find(plain, "[", 1, true)
  if open and find(plain, "]", open, true) then
    plain = sub(plain, 1, open - 1)
  end
  return (gsub(plain, "[%. %[]", "_"))
end

-- Characters at which a name may be read otherwise than it is written, or begin elsewhere.
local unsure = {}
for code = 0, 255 do
  unsure[code] = code <= space or find(string.char(code), '[%%+%.%[_"]') ~= nil
end

local function folded(char)
  return char >= 65 and char <= 90 and char + 32 or char
end

-- Whether what is written from `first` to `last` could be the name in any of its readings, of which none is longer.
local function may_be(text, first, last, of)
  local name, length = of.name, last - first + 1
  if length < of.least then
    return false
  end
  for i = 1, math.min(#name, length) do
    local char = byte(text, first + i - 1)
    if unsure[char] then
      return true
    elseif folded(char) ~= folded(byte(name, i)) then
      return unsure[byte(name, i)]
    end
  end
  return true
end

local function add(found, key, value, of)
  key = of.ignore_case and lower(key) or key
  if key == of.name then
    found[#found + 1] = value and of.unescape(value) or ""
  elseif lenient(key) == of.lenient then
    found.odd = true
  end
end

-- A part of a text, with the place of its first `=`.
local function take(found, text, first, last, equals, of)
  if may_be(text, first, (equals or last + 1) - 1, of) then
    local key, value = sub(text, first, (equals or last + 1) - 1), equals and sub(text, equals + 1, last)
    if of.trim then
      key, value = fields.trimmed(key), value and fields.trimmed(value)
    end
    add(found, of.unescape(key), value, of)
  end
end

-- The values of the name in the parts of `text` between two separators (bytes).
local function values(text, separator, also, of)
  local found, first, equals = {}, 1, nil
  for i = 1, #text do
    local char = byte(text, i)
    if char == separator or char == also then
      take(found, text, first, i - 1, equals, of)
      first, equals = i + 1, nil
    elseif char == equals_sign and not equals then
      equals = i
    end
  end
  take(found, text, first, #text, equals, of)
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

local function made(kind, name, ignore_case)
  name = ignore_case and lower(name) or name
  local of = { name = name, ignore_case = ignore_case, lenient = lenient(name) }
  of.least = math.min(#name, #of.lenient)
  return setmetatable(of, { __index = kind })
end

-- What is looked for: worked out once for each name, of which only the rules have some.
local function wanted(kind, name, ignore_case)
  local by_name = kind[ignore_case or false]
  by_name[name] = by_name[name] or made(kind, name, ignore_case)
  return by_name[name]
end

local function read(text, name, kind, ignore_case)
  local of = wanted(kind, name, ignore_case)
  local found = values(text, of.separator, none, of)
  if find(text, of.also, 1, true) then
    local other = values(text, of.separator, byte(of.also), of)
    found.odd = found.odd or other.odd or not are_alike(found, other)
  end
  return found
end

local query = { separator = byte("&"), also = ";", unescape = unescape_query, [false] = {}, [true] = {} }
local cookie = { separator = byte(";"), also = ",", unescape = unescape_cookie, trim = true, [false] = {}, [true] = {} }

--- The values of `name` in a query string, in their order; field `odd`: a server could read others.
function M.query(text, name, ignore_case)
  local found, shorter = read(text, name, query, ignore_case), paths.without_blanks(text)
  if #shorter < #text then
    found.odd = found.odd or not are_alike(found, read(shorter, name, query, ignore_case))
  end
  return found
end

--- The same for Cookie headers: a list of their values.
function M.cookie(headers, name, ignore_case)
  local found = read(table.concat(headers, ";"), name, cookie, ignore_case)
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
