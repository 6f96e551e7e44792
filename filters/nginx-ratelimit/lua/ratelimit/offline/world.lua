--- What the filter's decisions see of nginx, for requests that are read from a file: one request at a time, a clock that is set,
-- and stores that are never away. Everything else is the filter's own code.
--
-- Stands in for nginx's own modules, so it is loaded before the filter's and never within nginx.

local fields = require("ratelimit.fields")
local paths = require("ratelimit.paths")

local headers_here = { name = fields.name }

local M = {}

local now = 0
local request

local function no_operation() end

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local digits = {}
for i = 1, #alphabet do
  digits[alphabet:sub(i, i)] = i - 1
end

-- What nginx gives: nil for what is not Base64.
local function decode_base64(text)
  local bytes, bits, held = {}, 0, 0
  for character in text:gmatch("[^=]") do
    if not digits[character] then
      return nil
    end
    held, bits = held * 64 + digits[character], bits + 6
    if bits >= 8 then
      bits = bits - 8
      bytes[#bytes + 1] = string.char(math.floor(held / 2 ^ bits))
      held = held % 2 ^ bits
    end
  end
  return table.concat(bytes)
end

local variables = setmetatable({}, {
  __index = function(_, name)
    return request.seen[name]
  end,
})

_G.ngx = {
  var = variables,
  req = {
    get_method = function()
      return request.method
    end,
  },
  time = function()
    return math.floor(now / 1e6)
  end,
  now = function()
    return now / 1e6
  end,
  decode_base64 = decode_base64,
  crc32_short = function()
    return 0
  end,
  shared = { ratelimit_cache = { get = no_operation, set = no_operation } },
  log = no_operation,
}

function headers_here.values(name)
  local values = {}
  for _, header in ipairs(request.headers) do
    if headers_here.name(header.name) == name then
      values[#values + 1] = fields.trimmed(header.value)
    end
  end
  return values
end

function headers_here.first(name)
  local values = headers_here.values(name)
  return values[1], values[2] ~= nil
end

local clock = {}

function clock.now()
  return now
end

clock.steady = clock.now

package.loaded["ratelimit.clock"] = clock
package.loaded["ratelimit.headers"] = headers_here
-- Leases are left out: a limit is decided as if every request asked its store.
package.loaded["ratelimit.leasing"] = { put_back = no_operation }

local cores = require("ratelimit.core")
local verbs = require("ratelimit.core.verbs")

local states = {}

local function state_of(asked)
  local state = states[asked.key]
  if not state then
    state = {}
    for i = 1, asked.limit.size do
      state[i] = 0
    end
    states[asked.key] = state
  end
  return state
end

-- A state that can be decided upon and then be forgotten: what is written goes over the kept one. A copy would be as long as
-- the limit of a log is high.
local function draft(state)
  return setmetatable({}, { __index = state })
end

local function keep(answered)
  for place, number in pairs(answered.draft) do
    answered.state[place] = number
  end
end

local function answer(asked, amount)
  local state = state_of(asked)
  local over = draft(state)
  local core = cores[asked.limit.algorithm]
  local allowed, remaining, reset, retry_after, delay, granted = verbs.take(core, over, now, asked.limit, amount)
  return {
    allowed = allowed,
    remaining = remaining,
    reset = reset,
    retry_after = retry_after,
    delay = delay,
    granted = granted,
    state = state,
    draft = over,
  }
end

local function is_welcome(requests, answers)
  for i, asked in ipairs(requests) do
    if asked.binding and not answers[i].allowed then
      return false
    end
  end
  return true
end

-- Decides all together, as the stores do: what one binding limit rejects is taken from none.
local function ask(_, requests)
  local answers = { time = now }
  for i, asked in ipairs(requests) do
    answers[i] = answer(asked, asked.amount)
  end
  local welcome = is_welcome(requests, answers)
  for i, asked in ipairs(requests) do
    if welcome then
      keep(answers[i])
    elseif answers[i].granted > 0 then
      answers[i] = answer(asked, 0)
    end
  end
  return answers
end

package.loaded["ratelimit.asking"] = { ask = ask, nearby = no_operation, is_busy = no_operation }

--- The path as nginx routes it: decoded, slashes merged, `.` and `..` resolved.
function M.normalized(path)
  return paths.resolved(paths.decoded(path))
end

-- The host without what means nothing in it, as nginx has it.
local function host_of(headers)
  for _, header in ipairs(headers) do
    if fields.name(header.name) == "host" then
      return fields.host(fields.trimmed(header.value))
    end
  end
end

--- Begins the request that is decided next, at `time` (microseconds since 1970).
function M.begin(asked, time)
  local path, arguments = asked.path:match("^([^?#]*)%??([^#]*)")
  local seen = {
    uri = M.normalized(path),
    request_uri = asked.path,
    args = arguments,
    host = host_of(asked.headers),
    remote_addr = asked.address,
    request_method = asked.method,
  }
  for name, value in pairs(asked.variables) do
    seen[name] = value
  end
  now, request = time, { method = asked.method, headers = asked.headers, seen = seen }
end

--- Forgets everything that was counted.
function M.forget()
  states = {}
end

return M
