--- State in Redis: one script call per request, on the server's clock, whatever the number of limits.
--
-- The script is called by its digest; after a restart or SCRIPT FLUSH the server asks for the text and gets it once. There is
-- one for each algorithm, and one with all of them for a request whose limits differ in theirs. `asks` has it otherwise, for
-- measurements: `sent_script` sends the text each time, `lock` and `transaction` do without a script (`stores/redis_steps`).

local ffi = require("ffi")
local clock = require("ratelimit.clock")
local connection = require("ratelimit.wire.connection")
local cores = require("ratelimit.core")
local crypto = require("ratelimit.wire.crypto")
local resp = require("ratelimit.wire.resp")
local script = require("ratelimit.stores.script")
local steps = require("ratelimit.stores.redis_steps")
local server_clock = require("ratelimit.stores.server_clock")

local M = { most_together = 50 }
M.__index = M

-- Text and digest of a script, by algorithm; `all` has every one.
local scripts = {}

local function hex(bytes)
  return (bytes:gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

local function prepare(name, names)
  local source = script.build(names)
  scripts[name] = { source = source, digest = hex(crypto.sha1(source)) }
end

local function prepare_all()
  prepare("all", cores.names)
  for _, name in ipairs(cores.names) do
    prepare(name, { name })
  end
end

--- A store on the server of `config.address`.
function M.new(config)
  if config.asks == "lock" or config.asks == "transaction" then
    return steps.new(config)
  end
  if not scripts.all then
    prepare_all()
  end
  local store = { address = config.address, sends_text = config.asks == "sent_script", servers = server_clock.new() }
  return setmetatable(store, M)
end

--- Makes a pooled connection to an address `ahead` of the requests, and asks for the server's time.
function M:warm(address)
  local began = clock.steady()
  local reply, err = resp.call(address, { "TIME" })
  local seconds, rest = tonumber(reply and reply[1]), tonumber(reply and reply[2])
  if seconds and rest then
    self.servers:learn(began, seconds * 1e6 + rest, clock.steady())
  end
  return reply, err
end

-- What a call says of a limit never changes, and is encoded once.
local function limit_part(limit)
  limit.encoded = limit.encoded
    or resp.bulk(limit.algorithm)
      .. resp.bulk(limit.limit)
      .. resp.bulk(limit.window)
      .. resp.bulk(limit.burst)
      .. resp.bulk(limit.sub_windows)
  return limit.encoded
end

local bulk = resp.bulk

-- What a call says of a request: verb, limit (five arguments), amount, share, at, binding.
local function request_part(request)
  return bulk(request.verb)
    .. limit_part(request.limit)
    .. bulk(request.amount)
    .. bulk(request.share or 0)
    .. bulk(request.at or 0)
    .. bulk(request.binding and 1 or 0)
end

-- Keys and requests of a call. One request, the common case, without a loop: that the compiler of LuaJIT likes.
local function parts_of(requests)
  local keys, parts = bulk(requests[1].key), request_part(requests[1])
  if requests[2] then
    for i = 2, #requests do
      keys, parts = keys .. bulk(requests[i].key), parts .. request_part(requests[i])
    end
  end
  return keys, parts
end

--- The encoded script call for a list of requests.
-- @param now overrides the server's clock
-- @param till when nobody waits for the answer any more, on the server's clock
function M.encode(command, body, requests, now, till)
  local count = #requests
  local keys, parts = parts_of(requests)
  local head = "*" .. 5 + count * 11 .. "\r\n" .. bulk(command) .. bulk(body) .. bulk(count)
  return head .. keys .. bulk(now or -1) .. bulk(till or -1) .. parts
end

--- Why a server may forget clients that have used up their limits, from its INFO; nil when it won't.
function M.forgetting(info)
  local policy, most = info:match("maxmemory_policy:([%w-]+)"), info:match("maxmemory:(%d+)")
  if policy and policy ~= "noeviction" and most ~= "0" then
    return ("a flood of made-up keys pushes out the counts of others: maxmemory-policy is %s; "):format(policy)
      .. "write: CONFIG SET maxmemory-policy noeviction"
  end
end

--- Looks at the server's settings; returns what is wrong with them, or nil.
function M:check()
  local info = resp.call(connection.patient(self.address, 2), { "INFO", "memory" })
  return type(info) == "string" and M.forgetting(info) or nil
end

local doubles = ffi.typeof("double[?]")
local few = doubles(7)

local function answer(numbers, at)
  return {
    allowed = numbers[at] == 1,
    remaining = numbers[at + 1],
    reset = numbers[at + 2],
    retry_after = numbers[at + 3],
    delay = numbers[at + 4],
    granted = numbers[at + 5],
  }
end

--- The answers in a reply of the script.
function M.answers(reply, count)
  local numbers = count == 1 and few or doubles(1 + 6 * count)
  ffi.copy(numbers, reply, 8 + 48 * count)
  local answers = { answer(numbers, 1), time = numbers[0] }
  if count > 1 then
    for i = 2, count do
      answers[i] = answer(numbers, 6 * i - 5)
    end
  end
  return answers
end

local function script_for(requests)
  local name = requests[1].limit.algorithm
  if requests[2] then
    for i = 2, #requests do
      name = requests[i].limit.algorithm == name and name or "all"
    end
  end
  return scripts[name]
end

--- The digest of the script for one limit.
function M.digest(limit)
  return scripts[limit.algorithm].digest
end

-- Whether a reply shows that the server's clock is not what we took it for: it was stepped, or this is another server.
local function has_other_clock(reply)
  return resp.kind(reply) == "LATE" or resp.is_unwelcome(reply)
end

--- Decides all requests together: what one binding limit rejects is taken from none.
-- A call that the server comes to after its deadline, as after a stall, counts nothing: its request was decided without it.
function M:decide(requests, now, deadline)
  local found, began = script_for(requests), clock.steady()
  deadline = deadline or connection.deadline(self.address)
  local till = now and -1 or self.servers:before(deadline)
  local command, body = "EVALSHA", found.digest
  if self.sends_text then
    command, body = "EVAL", found.source
  end
  local reply, err = resp.ask(self.address, M.encode(command, body, requests, now, till), deadline)
  if type(reply) == "table" and reply.error and reply.error:find("^NOSCRIPT") then
    reply, err = resp.ask(self.address, M.encode("EVAL", found.source, requests, now, till), deadline)
  end
  if not reply then
    return nil, err
  elseif type(reply) == "table" then
    if has_other_clock(reply) then
      self.servers:forget()
    end
    return nil, reply.error or "not an answer of the script"
  elseif #reply ~= 8 + 48 * #requests then
    return nil, "not an answer of the script"
  end
  local answers = M.answers(reply, #requests)
  if not now then
    self.servers:learn(began, answers.time, clock.steady())
  end
  return answers
end

return M
