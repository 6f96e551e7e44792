--- State in the shared memory of one nginx: exact between its workers, kept over a reload, lost with the process.
--
-- A key's state is one value of packed doubles. It is never evicted while it counts: when the dictionary is full a new key is
-- refused ("no memory") and the limit's failure policy decides, so a flood of keys can't reset another client.

local ffi = require("ffi")
local clock = require("ratelimit.clock")
local cores = require("ratelimit.core")
local lock = require("ratelimit.stores.lock")
local verbs = require("ratelimit.core.verbs")

local M = {}
M.__index = M

local doubles = ffi.typeof("double[?]")
local length = 64
local scratch = doubles(length + 1)

-- Zeroes for `count` numbers, indexed from 1 like a Lua table; one buffer for small states, which are packed before any yield.
local function buffer(count)
  if count > length then
    return doubles(count + 1)
  end
  ffi.fill(scratch, (count + 1) * 8)
  return scratch
end

--- A store on the shared dictionaries `ratelimit_state` and `ratelimit_locks`.
function M.new(config)
  local state, locks = ngx.shared.ratelimit_state, ngx.shared.ratelimit_locks
  if not state or not locks then
    return nil, "needs lua_shared_dict ratelimit_state 64m; and lua_shared_dict ratelimit_locks 1m; in the http block"
  end
  return setmetatable({ dict = state, lock = lock.new(locks, config.timeout), flushed = 0 }, M)
end

local function load(dict, request)
  local count = request.limit.size
  local state, packed = buffer(count), dict:get(request.key)
  if packed then
    ffi.copy(state + 1, packed, math.min(#packed, count * 8))
  end
  return state
end

local function decide(dict, request, now)
  local limit, state = request.limit, load(dict, request)
  local allowed, remaining, reset, retry_after, delay, granted = verbs[request.verb](
    cores[limit.algorithm], state, now, limit, request.amount, request.share, request.at)
  local answer = {
    allowed = allowed, remaining = remaining, reset = reset, retry_after = retry_after, delay = delay, granted = granted,
  }
  if granted > 0 or request.verb == "report" or request.verb == "refund" then
    answer.packed = ffi.string(state + 1, limit.size * 8)
  end
  return answer
end

-- Makes room for new keys when the dictionary is full: at most once a second, expired entries only.
local function tidy(self)
  local now = ngx.now()
  if now - self.flushed >= 1 then
    self.flushed = now
    self.dict:flush_expired(10000)
  end
end

local function save_one(self, request, answer)
  if not answer.packed then
    return true
  end
  local ok, err = self.dict:safe_set(request.key, answer.packed, request.limit.seconds)
  if not ok and err == "no memory" then
    tidy(self)
    ok, err = self.dict:safe_set(request.key, answer.packed, request.limit.seconds)
  end
  return ok, err
end

local function save(self, requests, answers)
  for i = 1, #requests do
    local ok, err = save_one(self, requests[i], answers[i])
    if not ok then
      return nil, err
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

local function run(self, requests)
  local now = clock.now()
  local answers = { time = now }
  for i = 1, #requests do
    answers[i] = decide(self.dict, requests[i], now)
  end
  if not welcome(requests, answers) then
    return answers
  end
  local ok, err = save(self, requests, answers)
  if not ok then
    return nil, err
  end
  return answers
end

-- One request needs no lists; a rejected one has nothing to save.
local function decide_one(self, request)
  local stripe = request.stripe or lock.stripe(request.key)
  local since, err = self.lock:acquire_one(stripe)
  if not since then
    return nil, err
  end
  local now = clock.now()
  local answer = decide(self.dict, request, now)
  local ok
  ok, err = save_one(self, request, answer)
  self.lock:release_one(stripe, since)
  if not ok then
    return nil, err
  end
  return { answer, time = now }
end

--- Decides all requests together: what one binding limit rejects is taken from none.
function M:decide(requests)
  if requests[2] == nil then
    return decide_one(self, requests[1])
  end
  local list = lock.stripes(requests)
  local since, err = self.lock:acquire(list)
  if not since then
    return nil, err
  end
  local answers
  answers, err = run(self, requests)
  self.lock:release(list, #list, since)
  return answers, err
end

return M
