--- Names and values of header fields as servers read them. Pure: no clock, no I/O.

local byte, sub = string.byte, string.sub

local M = {}

local space = 32

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

return M
