--- One call for a key at a time from this worker. Others for that key wait in line, and the next call takes along whom it can:
-- a busy key costs one connection, and its rate is that of whole batches.
--
-- The holder of a line has an end (`till`): one that was killed meanwhile leaves the line to the next who comes.

local semaphore = require("ngx.semaphore")
local clock = require("ratelimit.clock")

local M = {}
M.__index = M

local most_together = 32
-- A call has its own deadline; this only matters when no one is there to end it.
local spare = 1

--- Lines in which no one waits longer than `patience` seconds for a turn.
function M.new(patience)
  return setmetatable({ patience = patience, hold = patience + spare, lines = {} }, M)
end

-- Seconds on a clock that no one sets back.
local function now_in_seconds()
  return clock.steady() / 1e6
end

-- The first in line who has not gone away meanwhile.
local function first(line)
  while line.waiting[1] and line.waiting[1].state == "gone" do
    table.remove(line.waiting, 1)
  end
  return line.waiting[1]
end

-- Waits until told to lead, or until served by a call of another.
local function wait(self, line, waiter, patience)
  waiter.semaphore = semaphore.new()
  line.waiting[#line.waiting + 1] = waiter
  waiter.semaphore:wait(math.max(0, patience))
  if waiter.state == "asked" then
    waiter.semaphore:wait(self.hold)
  end
  if waiter.state == "waiting" or waiter.state == "asked" then
    waiter.state = "gone"
  end
end

-- Takes a line that no one holds, or waits in it; afterwards the waiter is to lead, is done, or has gone.
local function enter(self, key, waiter, patience)
  local line, now = self.lines[key], now_in_seconds()
  if line and now < line.till then
    waiter.state = "waiting"
    return wait(self, line, waiter, patience)
  end
  self.lines[key] = line or { waiting = {} }
  self.lines[key].till, waiter.state = now + self.hold, "lead"
end

local function leave(self, key)
  local line = self.lines[key]
  local next = line and first(line)
  if not next then
    self.lines[key] = nil
    return
  end
  table.remove(line.waiting, 1)
  line.till, next.state = now_in_seconds() + self.hold, "lead"
  next.semaphore:post(1)
end

-- Those next in line who ask for this key alone, up to the first who does not.
local function companions(line)
  local list = {}
  local next = first(line)
  while next and next.request and #list < most_together - 1 do
    next.state, list[#list + 1] = "asked", table.remove(line.waiting, 1)
    next = first(line)
  end
  return list
end

local function serve(list, answers, err)
  for i, each in ipairs(list) do
    each.answer, each.err, each.state = answers and answers[i + 1], err, "done"
    each.semaphore:post(1)
  end
end

local function lead(self, key, waiter, ask)
  local list = companions(self.lines[key])
  local requests = { waiter.request }
  for i, each in ipairs(list) do
    requests[i + 1] = each.request
  end
  local ok, answers, err = pcall(ask, requests)
  answers, err = ok and answers or nil, ok and err or answers
  serve(list, answers, err)
  leave(self, key)
  return answers and answers[1], err
end

M.busy = "busy: its key is asked for by others"

--- Asks for one key, alone or together with others who wait for it.
-- @param ask `(requests)` -> a list of answers, or nil and a reason
-- @return the answer, or nil and a reason
function M:together(key, request, ask)
  local waiter = { request = request }
  enter(self, key, waiter, self.patience)
  if waiter.state == "lead" then
    return lead(self, key, waiter, ask)
  elseif waiter.state == "done" then
    return waiter.answer, waiter.err
  end
  return nil, M.busy
end

local function enter_all(self, keys)
  local deadline = now_in_seconds() + self.patience
  for i, key in ipairs(keys) do
    local waiter = {}
    enter(self, key, waiter, deadline - now_in_seconds())
    if waiter.state ~= "lead" then
      return i - 1
    end
  end
  return #keys
end

--- Calls `work` while no one else of this worker asks for any of `keys`, which are in a common order.
-- @return what `work` returns: a value, or nil and a reason
function M:alone(keys, work)
  local held = enter_all(self, keys)
  local ok, answers, err = held == #keys, nil, M.busy
  if ok then
    ok, answers, err = pcall(work)
    answers, err = ok and answers or nil, ok and err or answers
  end
  for i = held, 1, -1 do
    leave(self, keys[i])
  end
  return answers, err
end

return M
