--- State in the shared memory of one nginx: exact between its workers, kept over a reload, lost with the process.
--
-- A key's state is one value of packed doubles; a long log is kept by the page. It is never evicted while it counts: when the
-- dictionary is full a new key is refused ("no memory") and the limit's failure policy decides, so a flood of keys can't reset
-- another client.

local ffi = require("ffi")
local clock = require("ratelimit.clock")
local cores = require("ratelimit.core")
local lock = require("ratelimit.stores.lock")
local pages = require("ratelimit.stores.pages")
local shelf = require("ratelimit.stores.shelf")
local tidying = require("ratelimit.stores.tidying")
local verbs = require("ratelimit.core.verbs")

local M = {}
M.__index = M

-- Longer states, of 32 KB and more, are cheaper by the page than as a whole. A log of another limit may be twice as long.
local longest = 4096
local most_bytes = 2 * longest * 8
local doubles = ffi.typeof("double[?]")

-- One buffer for each limit of a request, indexed from 1 like a Lua table; used again, as nothing yields between load and save.
local buffers = setmetatable({}, {
  __index = function(self, place)
    self[place] = doubles(2 * longest + 1)
    return self[place]
  end,
})
local first_buffer = buffers[1]

--- Shares the locks; called by the master before it forks its workers.
function M.share()
  lock.share(ngx.shared.ratelimit_locks)
end

--- A store on the shared dictionary `ratelimit_state`.
function M.new(config)
  local kept = shelf.new(ngx.shared.ratelimit_state)
  return setmetatable({
    shelf = kept,
    lock = lock.new(config.timeout),
    tidying = tidying.new(ngx.shared.ratelimit_locks, clock.steady),
    tidy = function(count)
      return kept:tidy(count)
    end,
  }, M)
end

local function load(self, key, limit, buffer)
  if limit.size > longest then
    return pages.open(self.shelf, key)
  end
  local found = self.shelf:read(key, buffer + 1, limit.size * 8, most_bytes)
  if limit.stored and pages.is_heading(found) then
    return pages.open(self.shelf, key)
  end
  return buffer
end

local function save(self, key, limit, state)
  if type(state) == "table" then
    return pages.save(state, limit.seconds * 1000)
  end
  local size = limit.stored and limit.stored(state) or limit.size
  return self.shelf:write(key, state + 1, size * 8, limit.seconds * 1000)
end

local function save_or_tidy(self, key, limit, state)
  local ok, err = save(self, key, limit, state)
  if not ok and err == "no memory" then
    self.tidying:try(self.tidy)
    ok, err = save(self, key, limit, state)
  end
  return ok, err
end

-- Decides and saves while the key's stripe is held.
local function take_held(self, key, limit, cost, now)
  local state = load(self, key, limit, first_buffer)
  local allowed, remaining, reset, retry_after, delay = cores[limit.algorithm].decide(state, now, limit, cost)
  if allowed then
    local ok, err = save_or_tidy(self, key, limit, state)
    if not ok then
      return nil, err
    end
  end
  return allowed, remaining, reset, retry_after, delay, now
end

--- Takes `cost` units of one limit: the common case, without a table.
-- @return allowed, remaining, reset, retry_after, delay, time; or nil and a reason
function M:take(key, stripe, limit, cost)
  local ok, err = self.lock:acquire_one(stripe)
  if not ok then
    return nil, err
  end
  -- An error must not leave the stripe held.
  local done, allowed, remaining, reset, retry_after, delay, time = pcall(take_held, self, key, limit, cost, clock.now())
  self.lock:release_one(stripe)
  if not done then
    return nil, allowed
  end
  return allowed, remaining, reset, retry_after, delay, time
end

local function decide(self, request, place, now)
  local limit = request.limit
  local state = load(self, request.key, limit, buffers[place])
  local allowed, remaining, reset, retry_after, delay, granted =
    verbs[request.verb](cores[limit.algorithm], state, now, limit, request.amount, request.share, request.at)
  return {
    allowed = allowed,
    remaining = remaining,
    reset = reset,
    retry_after = retry_after,
    delay = delay,
    granted = granted,
    changed = (granted > 0 or request.verb == "report" or request.verb == "refund") and state,
  }
end

local function save_all(self, requests, answers)
  for i, answer in ipairs(answers) do
    if answer.changed then
      local ok, err = save_or_tidy(self, requests[i].key, requests[i].limit, answer.changed)
      if not ok then
        return nil, err
      end
    end
  end
  return true
end

local function welcome(requests, answers)
  for i = 1, #requests do
    if requests[i].binding and not answers[i].allowed then
      return false
    end
  end
  return true
end

-- If a binding limit rejects the request, the grants of the others are not saved: their answers say what is left without it.
local function withdraw(self, requests, answers)
  for i, answer in ipairs(answers) do
    if answer.granted > 0 then
      local look = { key = requests[i].key, limit = requests[i].limit, verb = "take", amount = 0 }
      answers[i] = decide(self, look, i, answers.time)
    end
  end
  return answers
end

local function decide_held(self, requests)
  local answers = { time = clock.now() }
  for i, request in ipairs(requests) do
    answers[i] = decide(self, request, i, answers.time)
  end
  if not welcome(requests, answers) then
    return withdraw(self, requests, answers)
  end
  local ok, err = save_all(self, requests, answers)
  return ok and answers, err
end

--- Decides all requests together: what one binding limit rejects is taken from none.
function M:decide(requests)
  local list = lock.stripes(requests)
  local ok, err = self.lock:acquire(list)
  if not ok then
    return nil, err
  end
  local done, answers, why = pcall(decide_held, self, requests)
  self.lock:release(list, #list)
  return done and answers or nil, done and why or answers
end

return M
