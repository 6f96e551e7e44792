--- When to look for expired values in a dictionary that is full.
--
-- The search walks past values that still count, under the dictionary's lock: meanwhile every request of every worker waits.
-- So all workers together search for at most a fiftieth of the time, few values at once, and more and more seldom while none is
-- found.

local M = {}
M.__index = M

local together = 200
local part_of_time = 50
local shortest, longest = 1e6, 16e6

--- A plan that all workers share in the dictionary `turns`; `clock` gives microseconds that are never set back.
function M.new(turns, clock)
  return setmetatable({ turns = turns, clock = clock }, M)
end

-- How long to leave it after a search that found `count`. What is found at once may not be all.
local function pause(self, count)
  if count == together then
    self.turns:delete("tidy_pause")
    return 0
  end
  local last = count == 0 and self.turns:get("tidy_pause")
  local next_pause = last and math.min(2 * last, longest) or shortest
  self.turns:set("tidy_pause", next_pause)
  return next_pause
end

--- Lets `search(count)` forget at most `count` expired values, if it is time for that.
-- @param search returns how many it has forgotten
function M:try(search)
  local began = self.clock()
  if began < (self.turns:get("tidy_at") or 0) then
    return
  end
  self.turns:set("tidy_at", began + shortest) -- the others need not search meanwhile
  local count = search(together)
  local now = self.clock()
  self.turns:set("tidy_at", now + math.max(part_of_time * (now - began), pause(self, count)))
end

return M
