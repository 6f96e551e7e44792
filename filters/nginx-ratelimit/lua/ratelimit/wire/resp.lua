--- The Redis protocol, RESP2: encoding, decoding, and one call over a pooled connection.
--
-- An error reply is a table { error = text }; a null reply is `false`.

local connection = require("ratelimit.wire.connection")

local concat, byte, find, sub = table.concat, string.byte, string.find, string.sub

local M = {}

local longest_bulk = 1048576
local longest_array = 4096
-- No command that the filter sends is answered by lists in lists.
local deepest_array = 4

--- Encodes one argument: a string, or a number (a whole one without exponent).
function M.bulk(argument)
  local text = type(argument) == "number" and M.number(argument) or argument
  return "$" .. #text .. "\r\n" .. text .. "\r\n"
end

--- Encodes a command.
function M.encode(arguments)
  local parts = { "*" .. #arguments .. "\r\n" }
  for i = 1, #arguments do
    parts[i + 1] = M.bulk(arguments[i])
  end
  return concat(parts)
end

--- Writes a number so that no digit is lost: microseconds since 1970 have sixteen.
function M.number(value)
  return value == math.floor(value) and string.format("%.0f", value) or string.format("%.17g", value)
end

local readers = {}

-- A whole number as the protocol writes it: `nan`, `inf` and `0x10` are numbers to Lua too.
local function whole(text)
  return find(text, "^[+-]?%d+$") and tonumber(text) or nil
end

--- Reads one reply from anything with `receive`; nil and a reason when the connection or the protocol broke.
-- @param depth in how many lists the reply stands (default: none)
function M.decode(source, depth)
  local line, err = source:receive("*l")
  if not line then
    return nil, err
  end
  local reader = readers[byte(line)]
  if not reader then
    return nil, "not a RESP reply"
  end
  return reader(sub(line, 2), source, depth or 0)
end

readers[byte("+")] = function(text)
  return text
end

readers[byte("-")] = function(text)
  return { error = text }
end

readers[byte(":")] = function(text)
  local value = whole(text)
  return value, not value and "not a whole number" or nil
end

readers[byte("$")] = function(text, source)
  local length = whole(text)
  if not length or length > longest_bulk then
    return nil, "bulk string too long"
  elseif length < 0 then
    return false
  end
  local bytes, err = source:receive(length + 2)
  return bytes and sub(bytes, 1, length), err
end

readers[byte("*")] = function(text, source, depth)
  local length = whole(text)
  if not length or length > longest_array or depth >= deepest_array then
    return nil, "array too long or too deep"
  end
  local list = {}
  for i = 1, length do
    local item, err = M.decode(source, depth + 1)
    if item == nil then
      return nil, err
    end
    list[i] = item
  end
  return list
end

local function greet(open, address)
  local ok, err = open:secure()
  for _, command in ipairs(ok and address.greeting or {}) do
    local reply
    ok, err = open:send(M.encode(command))
    if ok then
      reply, err = M.decode(open)
    end
    if type(reply) == "table" and reply.error then
      return nil, command[1] .. ": " .. reply.error
    elseif not reply then
      return nil, err
    end
  end
  return ok, err
end

-- Errors about the request. Any other is about the server: READONLY, MASTERDOWN, NOAUTH, LOADING and whatever is yet to come.
local about_the_request = { NOSCRIPT = true, FULL = true, LATE = true }

--- The kind of an error reply, which is its first word; nil for any other reply.
function M.kind(reply)
  return type(reply) == "table" and reply.error and reply.error:match("^%u*") or nil
end

--- Whether a reply is an error that another connection, and so another server, might not meet.
function M.is_unwelcome(reply)
  local kind = M.kind(reply)
  return kind ~= nil and not about_the_request[kind]
end

local function talk(open, request)
  local ok, err = open:send(request)
  if not ok then
    return nil, err
  end
  local reply
  reply, err = M.decode(open)
  if M.is_unwelcome(reply) then
    open:distrust()
  end
  return reply, err
end

--- Sends one encoded command and returns its reply.
-- @param deadline when it has to be there, on the steady clock (default: the address's timeout from now)
function M.ask(address, request, deadline)
  return connection.exchange(address, greet, talk, request, deadline)
end

-- Sends commands together; returns their replies in order, or nil and a reason.
local function say(open, commands)
  local parts, replies = {}, {}
  for i, command in ipairs(commands) do
    parts[i] = M.encode(command)
  end
  local ok, err = open:send(concat(parts))
  for i = 1, ok and #commands or 0 do
    local reply
    reply, err = M.decode(open)
    if reply == nil then
      return nil, err
    elseif M.is_unwelcome(reply) then
      open:distrust()
    end
    replies[i] = reply
  end
  return ok and replies or nil, err
end

--- Holds a conversation over one connection: `converse(say)`, where `say(commands)` sends commands and returns their replies.
-- @return what `converse` returns; when that is nil and a reason, the connection is closed
function M.converse(address, converse, deadline)
  return connection.exchange(address, greet, function(open)
    return converse(function(commands)
      return say(open, commands)
    end)
  end, nil, deadline)
end

--- Sends one command and returns its reply.
function M.call(address, arguments)
  return M.ask(address, M.encode(arguments))
end

return M
