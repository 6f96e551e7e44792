--- The state of a long log, read and written by the page: a decision touches a few pages, however long the log is.
--
-- The first four numbers (the log's heading) are kept under the key itself, the ring behind them in its own pages.
-- A page outlives every entry that the heading still counts: the heading is kept for one window after the last admission,
-- at which entries older than a window were forgotten; so an entry counts for less than two windows after its page was written.

local ffi = require("ffi")

local M = {}

local heading, on_page = 4, 128
local bytes = on_page * 8
local doubles = ffi.typeof("double[?]")

local function key_of(self, number)
  return number < 0 and self.key or self.key .. "#" .. number
end

local function page_of(self, number)
  local page = self.pages[number]
  if not page then
    page = doubles(on_page)
    self.shelf:read(key_of(self, number), page, bytes)
    self.pages[number] = page
  end
  return page
end

-- The page and the place on it of number `i` of the state; page -1 is the heading.
local function place(i)
  if i <= heading then
    return -1, i - 1
  end
  local at = i - heading - 1
  local on = at % on_page
  return (at - on) / on_page, on
end

local meta = {
  __index = function(self, i)
    local number, at = place(i)
    return page_of(self, number)[at]
  end,
  __newindex = function(self, i, value)
    local number, at = place(i)
    page_of(self, number)[at] = value
    self.changed[number] = true
  end,
}

-- Takes over a state that was kept as a whole, when its limit was smaller.
local function spread(self, length)
  local numbers = doubles(length / 8)
  self.shelf:read(self.key, numbers, length)
  for i = heading + 1, length / 8 do
    self[i] = numbers[i - 1]
  end
end

--- The state of `key`, indexed from 1.
function M.open(shelf, key)
  local self = setmetatable({ shelf = shelf, key = key, pages = {}, changed = {} }, meta)
  self.pages[-1] = doubles(on_page)
  local found = shelf:read(key, self.pages[-1], heading * 8)
  if found > heading * 8 then
    spread(self, found)
  end
  return self
end

--- Whether a value of `length` bytes is the heading of a state that is kept by the page.
function M.is_heading(length)
  return length == heading * 8
end

--- Writes what has changed, the heading last: entries that it does not count do not exist.
function M.save(state, milliseconds)
  for number in pairs(state.changed) do
    if number >= 0 then
      local ok, err = state.shelf:write(key_of(state, number), state.pages[number], bytes, 2 * milliseconds)
      if not ok then
        return nil, err
      end
    end
  end
  return state.shelf:write(state.key, page_of(state, -1), heading * 8, milliseconds)
end

return M
