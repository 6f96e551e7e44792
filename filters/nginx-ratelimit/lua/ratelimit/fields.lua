--- Names and values of header fields as servers read them. Pure: no clock, no I/O.

local byte, sub = string.byte, string.sub

local M = {}

local space = 32
local written_out = 24

--- A header's name as the filter compares it. A server that reads names from variables of its own can't tell `_` from `-`.
function M.name(text)
  return (text:lower():gsub("_", "-"))
end

--- A value without blanks at its ends. RFC 9110 (section 5.5) has spaces and tabs there that aren't part of the value, and nginx
-- leaves tabs; some servers cut every control character. A client that sends more of them is the same client.
-- Two loops and no pattern: one that is anchored to both ends is quadratic in the blanks.
function M.trimmed(text)
  local first, last = 1, #text
  while first <= last and byte(text, first) <= space do
    first = first + 1
  end
  while last > first and byte(text, last) <= space do
    last = last - 1
  end
  return first == 1 and last == #text and text or sub(text, first, last)
end

--- A host without what means nothing in it: case, port, and a dot at its end.
function M.host(text)
  local name = text:match("^%[[^%]]*%]") or text:match("^[^:]*")
  return (name:lower():gsub("%.$", ""))
end

--- A function `(list, count, name, from)` for the place of the first of `count` headers that has a name, not before `from`; -1
-- when none has. The search among the first headers is written out line by line, as a loop would break the decision that LuaJIT
-- compiles as a whole.
-- @param is_named whether a header's `key` is a name
function M.searching(is_named)
  local lines = { "local is_named = ...\nreturn function(list, count, name, from)" }
  for i = 0, written_out - 1 do
    lines[#lines + 1] = ("if count <= %d then return -1 end"):format(i)
    lines[#lines + 1] = ("if from <= %d and is_named(list[%d].key, name) then return %d end"):format(i, i, i)
  end
  lines[#lines + 1] = ("for i = from < %d and %d or from, count - 1 do"):format(written_out, written_out)
  lines[#lines + 1] = "if is_named(list[i].key, name) then return i end end return -1 end"
  return assert(loadstring(table.concat(lines, "\n"), "=headers"))(is_named)
end

return M
