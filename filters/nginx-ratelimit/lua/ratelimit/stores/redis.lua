--- State in Redis: one script call per request, on the server's clock, whatever the number of limits.
--
-- The script is called by its digest; after a restart or SCRIPT FLUSH the server asks for the text and gets it once.

local connection = require("ratelimit.wire.connection")
local crypto = require("ratelimit.wire.crypto")
local resp = require("ratelimit.wire.resp")
local script = require("ratelimit.stores.script")

local M = {}
M.__index = M

local source, digest

local function hex(bytes)
  return (bytes:gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

--- A store on the server of `config.address`.
function M.new(config)
  source = source or script.build()
  digest = digest or hex(crypto.sha1(source))
  return setmetatable({ address = config.address }, M)
end

--- Makes a pooled connection ahead of the requests.
function M:warm()
  return resp.call(connection.patient(self.address, 2), { "PING" })
end

--- The arguments of a script call for a list of requests; `now` overrides the server's clock.
function M.arguments(requests, now)
  local count = #requests
  local list = { count }
  for i = 1, count do
    list[1 + i] = requests[i].key
  end
  list[count + 2] = now or -1
  for i = 1, count do
    local request = requests[i]
    local limit, at = request.limit, count + 2 + (i - 1) * 10
    list[at + 1], list[at + 2], list[at + 3], list[at + 4] = request.verb, limit.algorithm, limit.limit, limit.window
    list[at + 5], list[at + 6], list[at + 7] = limit.burst, limit.sub_windows, request.amount
    list[at + 8], list[at + 9], list[at + 10] = request.share or 0, request.at or 0, request.binding and 1 or 0
  end
  return list
end

--- The answers in a reply of the script.
function M.answers(reply, count)
  local answers = { time = reply[1] }
  for i = 1, count do
    local at = 1 + (i - 1) * 6
    answers[i] = {
      allowed = reply[at + 1] == 1, remaining = reply[at + 2], reset = reply[at + 3],
      retry_after = reply[at + 4], delay = reply[at + 5], granted = reply[at + 6],
    }
  end
  return answers
end

local function call(address, command, body, arguments)
  local list = { command, body }
  for i = 1, #arguments do
    list[i + 2] = arguments[i]
  end
  return resp.call(address, list)
end

--- Decides all requests together: what one binding limit rejects is taken from none.
function M:decide(requests, now)
  local arguments = M.arguments(requests, now)
  local reply, err = call(self.address, "EVALSHA", digest, arguments)
  if reply and reply.error and reply.error:find("^NOSCRIPT") then
    reply, err = call(self.address, "EVAL", source, arguments)
  end
  if not reply then
    return nil, err
  elseif reply.error then
    return nil, reply.error
  end
  return M.answers(reply, #requests)
end

return M
