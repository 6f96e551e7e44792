--- Locks between the workers of one nginx, on a shared dictionary.
--
-- Keys fall on a fixed number of stripes, so a flood of keys can't fill the dictionary. A holder never yields, so it holds
-- for microseconds; a worker that dies while holding blocks its stripe until `expires`. Several stripes are taken in order,
-- so two requests can't wait for each other.

local clock = require("ratelimit.clock")

local M = {}
M.__index = M

local stripes = 1021
local names = {}
for i = 0, stripes - 1 do
  names[i] = tostring(i)
end

local spins = 40
local expires = 0.5

--- A set of locks in the dictionary `dict`; waits for at most `patience` seconds.
function M.new(dict, patience)
  return setmetatable({ dict = dict, patience = patience * 1e6 }, M)
end

--- The stripe of one key.
function M.stripe(key)
  return ngx.crc32_short(key) % stripes
end

--- The stripes of a list of requests, each once, in rising order.
function M.stripes(requests)
  local seen, list = {}, {}
  for _, request in ipairs(requests) do
    local number = M.stripe(request.key)
    if not seen[number] then
      seen[number], list[#list + 1] = true, number
    end
  end
  table.sort(list)
  return list
end

local function wait(dict, name, deadline)
  for _ = 1, spins do
    if dict:add(name, 1, expires) then
      return true
    end
  end
  while clock.steady() < deadline do
    ngx.sleep(0.001)
    if dict:add(name, 1, expires) then
      return true
    end
  end
  return false
end

-- The first try stands apart from the loops: it nearly always succeeds, and so compiles to straight code.
local function take(dict, number, deadline)
  local name = names[number]
  return dict:add(name, 1, expires) or wait(dict, name, deadline)
end

local function held_too_long(since)
  return clock.steady() - since > expires * 0.9e6
end

--- Takes one stripe; returns when it was taken, or nil and a reason.
function M:acquire_one(number)
  local now = clock.steady()
  if take(self.dict, number, now + self.patience) then
    return now
  end
  return nil, "timeout waiting for a lock"
end

--- Gives one stripe back, unless it was held so long that another may hold it by now.
function M:release_one(number, since)
  if not held_too_long(since) then
    self.dict:delete(names[number])
  end
end

--- Takes all stripes or none; returns when they were taken, or nil and a reason.
function M:acquire(list)
  local deadline = clock.steady() + self.patience
  for i = 1, #list do
    if not take(self.dict, list[i], deadline) then
      self:release(list, i - 1)
      return nil, "timeout waiting for a lock"
    end
  end
  return clock.steady()
end

--- Gives back the first `count` stripes, unless they were held so long that another may hold them by now.
function M:release(list, count, since)
  if since and held_too_long(since) then
    return
  end
  for i = count, 1, -1 do
    self.dict:delete(names[list[i]])
  end
end

return M
