--- Comma-separated values (RFC 4180) with the line on which each record begins. Pure: no clock, no I/O.

local M = {}

-- A field that begins at `at`: its text, where the next begins, and whether the record ends with it.
local function quoted(text, at)
  local parts, from = {}, at + 1
  while true do
    local quote = text:find('"', from, true)
    if not quote then
      return nil
    end
    parts[#parts + 1] = text:sub(from, quote - 1)
    if text:sub(quote + 1, quote + 1) ~= '"' then
      return table.concat(parts), quote + 1
    end
    parts[#parts + 1], from = '"', quote + 2
  end
end

local function field(text, at)
  if text:sub(at, at) == '"' then
    local value, after = quoted(text, at)
    return value, after
  end
  local stop = text:find("[,\r\n]", at) or #text + 1
  return text:sub(at, stop - 1), stop
end

local function newlines(text)
  return select(2, text:gsub("\n", ""))
end

--- The records of a text: a list of lists of texts, each with the `line` on which it begins; empty lines are left out.
-- @return the records; or nil, a line and what is wrong there
function M.parse(text)
  local records, at, line = {}, 1, 1
  text = text:gsub("^\239\187\191", ""):gsub("\r\n", "\n")
  while at <= #text do
    local record, from = { line = line }, at
    repeat
      local value, after = field(text, at)
      if not value then
        return nil, line, "a quoted field does not end"
      end
      local next = text:sub(after, after)
      if next ~= "," and next ~= "\n" and next ~= "" then
        return nil, line, "text follows the quote that ends a field"
      end
      record[#record + 1], at = value, after + 1
    until next ~= ","
    line = line + newlines(text:sub(from, at - 1))
    if #record > 1 or record[1] ~= "" then
      records[#records + 1] = record
    end
  end
  return records
end

return M
