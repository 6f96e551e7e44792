--- State in the sidecar next to this load balancer (contracts/ratelimit/sidecar.md), which gossips with the others.
--
-- One round trip for a limit. Several limits on one request are asked one after another; what a later one rejects is given
-- back to the earlier ones, whose answers then say what is there without it. The sidecar counts whole milliseconds and does not
-- say its time.

local clock = require("ratelimit.clock")
local connection = require("ratelimit.wire.connection")
local resp = require("ratelimit.wire.resp")

local M = {}
M.__index = M

--- A store on the sidecar of `config.address`.
function M.new(config)
  return setmetatable({ address = config.address }, M)
end

--- Makes a pooled connection to an address `ahead` of the requests.
function M.warm(_, address)
  return resp.call(address, { "PING" })
end

local verbs = { take = "PB.TAKE", reserve = "PB.LEASE", report = "PB.REPORT", refund = "PB.GIVE" }

local function parameter(limit)
  if limit.algorithm == "sliding_window_counter" then
    return limit.sub_windows
  elseif limit.algorithm == "fixed_window" or limit.algorithm == "sliding_window_log" then
    return 0
  end
  return limit.burst
end

local bulk = resp.bulk

-- What a command says of a limit never changes, and is encoded once.
local function limit_part(limit)
  local milliseconds = math.max(1, math.floor(limit.window / 1000))
  limit.for_sidecar = limit.for_sidecar or bulk(limit.algorithm) .. bulk(limit.limit) .. bulk(milliseconds)
  return limit.for_sidecar
end

-- What a verb alone says: how old the units are that come back; the share of what remains that a lease may hold, in millionths.
local function last_part(verb, request, now)
  if verb == "PB.GIVE" then
    return bulk(math.max(0, math.floor((now - request.at) / 1000)))
  elseif verb == "PB.LEASE" then
    return bulk(math.max(1, math.floor((request.share or 1) * 1e6 + 0.5)))
  end
end

--- The encoded command for a request.
function M.command(request, now)
  local limit, verb = request.limit, request.amount == 0 and "PB.PEEK" or verbs[request.verb]
  local last = last_part(verb, request, now)
  return (last and "*8\r\n" or "*7\r\n")
    .. bulk(verb)
    .. bulk(request.key)
    .. limit_part(limit)
    .. bulk(math.max(1, request.amount))
    .. bulk(parameter(limit))
    .. (last or "")
end

local function micro(milliseconds)
  return milliseconds < 0 and -1 or milliseconds * 1000
end

--- The answer to a request in a reply of the sidecar.
function M.answer(request, reply)
  local first, remaining = reply[1], reply[2]
  local leased = request.verb == "reserve"
  local allowed = first > 0
  if request.verb == "report" then
    allowed = remaining > 0
  elseif request.verb == "refund" or request.amount == 0 then
    allowed = true
  end
  return {
    allowed = allowed,
    remaining = remaining,
    reset = micro(reply[3]),
    retry_after = micro(reply[4]),
    delay = micro(reply[5]),
    granted = leased and first or request.verb == "take" and first * request.amount or 0,
  }
end

local function ask(address, request, deadline)
  local reply, err = resp.ask(address, M.command(request, clock.now()), deadline)
  if not reply then
    return nil, err
  elseif reply.error then
    return nil, reply.error
  end
  return M.answer(request, reply)
end

-- What the request has no time left for is given back when it has gone on.
local function give_back_later(address, refund)
  local patient = connection.patient(address, 1)
  ngx.timer.at(0, function()
    ask(patient, refund)
  end)
end

local function without_grant(answer)
  answer.remaining, answer.granted = answer.remaining + answer.granted, 0
  return answer
end

local function give_back(self, requests, answers, count, deadline)
  local now = clock.now()
  for i = 1, count do
    local granted = answers[i].granted
    if granted > 0 then
      local refund = { verb = "refund", key = requests[i].key, limit = requests[i].limit, amount = granted, at = now }
      local given = clock.steady() < deadline and ask(self.address, refund, deadline)
      if not given then
        give_back_later(self.address, refund)
      end
      answers[i] = given or without_grant(answers[i])
    end
  end
end

--- Decides requests in order; stops at the first binding rejection.
function M:decide(requests, _, deadline)
  local answers = { time = clock.now() }
  deadline = deadline or connection.deadline(self.address)
  for i = 1, #requests do
    local answer, err = ask(self.address, requests[i], deadline)
    if not answer then
      give_back(self, requests, answers, i - 1, deadline)
      return nil, err
    end
    answers[i] = answer
    if requests[i].binding and not answer.allowed then
      give_back(self, requests, answers, i - 1, deadline)
      break
    end
  end
  return answers
end

return M
