--- State in Redis, read and written in steps and decided in between by the balancer, to compare with the script.
--
-- The script takes one round trip, this takes two or more. `transaction` watches the keys while it decides (WATCH, MULTI, EXEC)
-- and begins anew when another balancer has written meanwhile. `lock` takes a lock of each key before it reads.
-- Keys and state are those of the script, and times are the server's. What a stalled server comes to too late counts, other
-- than with the script: this is for measurements, not for production.

local ffi = require("ffi")
local clock = require("ratelimit.clock")
local connection = require("ratelimit.wire.connection")
local cores = require("ratelimit.core")
local resp = require("ratelimit.wire.resp")
local verbs = require("ratelimit.core.verbs")

local M = { most_together = 50 }
M.__index = M

local doubles = ffi.typeof("double[?]")
local again = 0.001

--- A store on the server of `config.address` that decides by `config.asks`: lock or transaction.
function M.new(config)
  return setmetatable({ address = config.address, asks = config.asks, count = 0 }, M)
end

--- Makes a pooled connection to an address `ahead` of the requests.
function M.warm(address)
  return resp.call(address, { "PING" })
end

-- Deciding. ----------------------------------------------------------------------------------------------------------

-- The state in a reply to GET, indexed from 1; that of a new key is all zero.
local function state_of(raw, limit)
  local bytes = raw or ""
  local state = doubles(math.max(limit.size, math.ceil(#bytes / 8)) + 1)
  ffi.copy(state + 1, bytes, #bytes)
  return state
end

local function decide_one(request, raw, now)
  local limit, verb = request.limit, request.verb
  local state = state_of(raw, limit)
  local allowed, remaining, reset, retry_after, delay, granted =
    verbs[verb](cores[limit.algorithm], state, now, limit, request.amount, request.share or 0, request.at or 0)
  return {
    allowed = allowed,
    remaining = remaining,
    reset = reset,
    retry_after = retry_after,
    delay = delay,
    granted = granted,
  }, (granted > 0 or verb == "report" or verb == "refund") and state or nil
end

-- What a key holds from now on, as a command.
local function writing(request, state)
  local limit = request.limit
  local size = limit.stored and limit.stored(state) or limit.size
  local lives = math.ceil(cores[limit.algorithm].ttl(limit) / 1000) + 1
  return { "SET", request.key, ffi.string(state + 1, size * 8), "PX", lives }
end

-- The grants of a request that a binding limit rejects are not written: their answers say what is left without them.
local function withdrawn(requests, raws, answers)
  for i, answer in ipairs(answers) do
    if answer.granted > 0 then
      local look = { key = requests[i].key, limit = requests[i].limit, verb = "take", amount = 0 }
      answers[i] = decide_one(look, raws[i], answers.time)
    end
  end
  return answers, {}
end

-- The answers to all requests, and the commands that write what they changed.
local function decide_all(requests, raws, now)
  local answers, writes, welcome = { time = now }, {}, true
  for i, request in ipairs(requests) do
    local changed
    answers[i], changed = decide_one(request, raws[i], now)
    writes[#writes + 1] = changed and writing(request, changed)
    welcome = welcome and (answers[i].allowed or not request.binding)
  end
  if not welcome then
    return withdrawn(requests, raws, answers)
  end
  return answers, writes
end

-- Talking. -----------------------------------------------------------------------------------------------------------

local function failure(reply)
  return type(reply) == "table" and reply.error or nil
end

local function keys_of(requests)
  local keys = {}
  for i, request in ipairs(requests) do
    keys[i] = request.key
  end
  return keys
end

-- Reads all keys and the clock, with what has to be said before: the raw states and the time; or nil and a reason.
local function read(say, requests, before, now)
  local commands = { before, { "TIME" } }
  for _, request in ipairs(requests) do
    commands[#commands + 1] = { "GET", request.key }
  end
  local replies, err = say(commands)
  for _, reply in ipairs(replies or {}) do
    err = err or failure(reply)
  end
  if err then
    return nil, err
  end
  local raws = {}
  for i = 1, #requests do
    raws[i] = replies[i + 2]
  end
  return raws, now or replies[2][1] * 1e6 + replies[2][2]
end

-- Whether EXEC has written: an empty list means that a watched key has changed.
local function is_written(done, count)
  return not failure(done) and #done == count
end

local function try_transaction(say, requests, now)
  local raws, time = read(say, requests, { "WATCH", unpack(keys_of(requests)) }, now)
  if not raws then
    return nil, time
  end
  local answers, writes = decide_all(requests, raws, time)
  local commands = { { #writes > 0 and "MULTI" or "UNWATCH" } }
  for i, write in ipairs(writes) do
    commands[i + 1] = write
  end
  commands[#commands + 1] = #writes > 0 and { "EXEC" } or nil
  local replies, err = say(commands)
  local done = replies and replies[#replies]
  if not replies or failure(done) then
    return nil, err or failure(done)
  end
  return (#writes == 0 or is_written(done, #writes)) and answers or false
end

local function by_transaction(requests, now, deadline)
  return function(say)
    repeat
      local answers, err = try_transaction(say, requests, now)
      if answers ~= false then
        return answers, err
      end
    until clock.steady() >= deadline
    return nil, "timeout: others kept writing"
  end
end

-- Takes the lock of a key. It outlives this request's deadline, so no other holds it before this one is over.
local function acquire(say, key, token, lives, deadline)
  repeat
    local replies, err = say({ { "SET", key .. ":lock", token, "NX", "PX", lives } })
    if not replies or failure(replies[1]) then
      return nil, err or failure(replies[1])
    elseif replies[1] == "OK" then
      return true
    end
    ngx.sleep(again)
  until clock.steady() >= deadline
  return nil, "timeout: others kept the lock"
end

-- In the order of their keys, so that two requests never wait for each other.
local function acquire_all(say, keys, token, lives, deadline)
  local order = { unpack(keys) }
  table.sort(order)
  for i, key in ipairs(order) do
    if key ~= order[i - 1] then
      local ok, err = acquire(say, key, token, lives, deadline)
      if not ok then
        return nil, err
      end
    end
  end
  return true
end

local function by_lock(store, requests, now, deadline)
  store.count = store.count + 1
  local keys, token = keys_of(requests), ("%d %d"):format(ngx.worker.pid(), store.count)
  local lives = math.ceil((deadline - clock.steady()) / 1000) + 1
  return function(say)
    local ok, err = acquire_all(say, keys, token, lives, deadline)
    if not ok then
      return nil, err
    end
    local raws, time = read(say, requests, { "PING" }, now)
    if not raws then
      return nil, time
    end
    local answers, commands = decide_all(requests, raws, time)
    for _, key in ipairs(keys) do
      commands[#commands + 1] = { "DEL", key .. ":lock" }
    end
    local replies
    replies, err = say(commands)
    return replies and answers or nil, err
  end
end

--- Decides all requests together: what one binding limit rejects is taken from none.
-- @param now overrides the server's clock
function M:decide(requests, now, deadline)
  deadline = deadline or connection.deadline(self.address)
  local talk = self.asks == "lock" and by_lock(self, requests, now, deadline) or by_transaction(requests, now, deadline)
  return resp.converse(self.address, talk, deadline)
end

return M
