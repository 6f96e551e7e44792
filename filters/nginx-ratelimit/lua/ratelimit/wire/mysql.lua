--- The MySQL client protocol, as much as a store needs: greeting, authentication, text queries, several results.
--
-- Speaks mysql_native_password and MariaDB's client_ed25519. Packets are decoded apart from the socket, so that tests
-- need no server. Reference: the client/server protocol chapter of the MariaDB manual.

local bit = require("bit")
local connection = require("ratelimit.wire.connection")
local crypto = require("ratelimit.wire.crypto")

local byte, char, sub, rep, find = string.byte, string.char, string.sub, string.rep, string.find

local M = {}

local longest_packet = 1048576

-- LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH
local capabilities = 0x1 + 0x8 + 0x200 + 0x2000 + 0x8000 + 0x10000 + 0x20000 + 0x80000
local utf8mb4_bin = 46

local function little(bytes, from, count)
  local value = 0
  for i = count - 1, 0, -1 do
    value = value * 256 + byte(bytes, from + i)
  end
  return value
end

local function to_little(value, count)
  local out = {}
  for i = 1, count do
    out[i] = char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(out)
end

--- Reads a length-encoded number at `from`: value (nil for NULL) and the place after it.
function M.length_encoded(bytes, from)
  local first = byte(bytes, from)
  if first < 251 then
    return first, from + 1
  elseif first == 251 then
    return nil, from + 1
  end
  local count = first == 252 and 2 or first == 253 and 3 or 8
  return little(bytes, from + 1, count), from + 1 + count
end

--- Reads a row of the text protocol into a list of strings; false for NULL.
function M.row(packet, columns)
  local values, at = {}, 1
  for i = 1, columns do
    local length
    length, at = M.length_encoded(packet, at)
    values[i] = length and sub(packet, at, at + length - 1) or false
    at = at + (length or 0)
  end
  return values
end

--- The reason in an ERR packet: code and message.
function M.failure(packet)
  local code, text = little(packet, 2, 2), sub(packet, 4)
  return ("MySQL error %d: %s"):format(code, (text:gsub("^#.....", "")))
end

--- What the server says first: scramble and plugin, or nil and a reason.
function M.greeting(packet)
  if byte(packet) == 255 then
    return nil, M.failure(packet)
  elseif byte(packet) ~= 10 then
    return nil, "protocol version " .. tostring(byte(packet)) .. "; only 10 is understood"
  end
  local at = find(packet, "\0", 2, true) + 5
  local first = sub(packet, at, at + 7)
  local rest = sub(packet, at + 27, at + 38)
  return { scramble = first .. rest, plugin = packet:match("^[^%z]*", at + 40) }
end

local function native_password(password, scramble)
  if password == "" then
    return ""
  end
  local once = crypto.sha1(password)
  local mask = crypto.sha1(sub(scramble, 1, 20) .. crypto.sha1(once))
  local out = {}
  for i = 1, 20 do
    out[i] = char(bit.bxor(byte(once, i), byte(mask, i)))
  end
  return table.concat(out)
end

M.plugins = {
  mysql_native_password = native_password,
  client_ed25519 = function(password, scramble)
    return crypto.ed25519(password, sub(scramble, 1, 32))
  end,
}

--- The answer to the greeting.
function M.login(address, greeting)
  local plugin = M.plugins[greeting.plugin] and greeting.plugin or "mysql_native_password"
  local proof = M.plugins[plugin](address.password, greeting.scramble)
  return to_little(capabilities, 4) .. to_little(longest_packet, 4) .. char(utf8mb4_bin) .. rep("\0", 23)
    .. address.user .. "\0" .. char(#proof) .. proof .. address.database .. "\0" .. plugin .. "\0"
end

--- The answer to a request for another plugin.
function M.switch(address, packet)
  local plugin, scramble = packet:match("^([^%z]*)%z(.*)$", 2)
  if not M.plugins[plugin] then
    return nil, ("the server asks for authentication by %s; allowed: mysql_native_password, ed25519"):format(tostring(plugin))
  end
  return M.plugins[plugin](address.password, scramble)
end

local function read_packet(open)
  local header, err = open:receive(4)
  if not header then
    return nil, err
  end
  local length = little(header, 1, 3)
  if length > longest_packet then
    return nil, "packet too long"
  end
  open.sequence = (byte(header, 4) + 1) % 256
  return open:receive(length)
end

local function write_packet(open, payload)
  local header = to_little(#payload, 3) .. char(open.sequence)
  open.sequence = (open.sequence + 1) % 256
  return open:send(header .. payload)
end

local function authenticate(open, address)
  local packet, err = read_packet(open)
  while packet do
    local kind = byte(packet)
    if kind == 0 then
      return true
    elseif kind == 255 then
      return nil, M.failure(packet)
    elseif kind ~= 254 then
      return nil, "authentication asks for more than one exchange"
    end
    local proof
    proof, err = M.switch(address, packet)
    if not proof then
      return nil, err
    end
    write_packet(open, proof)
    packet, err = read_packet(open)
  end
  return nil, err
end

local function skip(open, count)
  for _ = 1, count do
    local packet, err = read_packet(open)
    if not packet then
      return nil, err
    end
  end
  return true
end

local function rows(open, columns, list)
  while true do
    local packet, err = read_packet(open)
    if not packet then
      return nil, err
    elseif byte(packet) == 255 then
      return nil, M.failure(packet)
    elseif byte(packet) == 254 and #packet < 9 then
      return little(packet, 4, 2)
    end
    list[#list + 1] = M.row(packet, columns)
  end
end

local function ok_status(packet)
  local _, at = M.length_encoded(packet, 2)
  _, at = M.length_encoded(packet, at)
  return little(packet, at, 2)
end

-- Reads one result; returns the server's status, whose bit 8 says that another result follows.
local function result(open, list)
  local packet, err = read_packet(open)
  if not packet then
    return nil, err
  elseif byte(packet) == 255 then
    return nil, M.failure(packet)
  elseif byte(packet) == 0 then
    return ok_status(packet)
  end
  local columns = M.length_encoded(packet, 1)
  local ok
  ok, err = skip(open, columns + 1)
  if not ok then
    return nil, err
  end
  return rows(open, columns, list)
end

--- Sends a query and collects the rows of all its results.
function M.query(open, text)
  open.sequence = 0
  local ok, err = write_packet(open, "\3" .. text)
  local list = {}
  while ok do
    local status
    status, err = result(open, list)
    if not status then
      return nil, err
    elseif bit.band(status, 8) == 0 then
      return list
    end
  end
  return nil, err
end

local function greet(open, address)
  local packet, err = read_packet(open)
  local greeting, ok
  if packet then
    greeting, err = M.greeting(packet)
  end
  if not greeting then
    return nil, err
  end
  ok, err = write_packet(open, M.login(address, greeting))
  if ok then
    ok, err = authenticate(open, address)
  end
  if ok and address.setup then
    ok, err = M.query(open, address.setup)
  end
  return ok, err
end

local function attempt(address, text)
  local open, err = connection.open(address)
  if not open then
    return nil, err
  end
  local reused, ok = open.reused, true
  if not reused then
    ok, err = greet(open, address)
  end
  local list
  if ok then
    list, err = M.query(open, text)
  end
  if not list then
    open:close()
    return nil, err, reused
  end
  open:keep()
  return list
end

--- Sends one query over a pooled connection and returns the rows of all its results.
-- After any error the connection is closed, so that no transaction is left open in the pool.
-- A pooled connection that the server has closed meanwhile is replaced once; nothing else is retried.
function M.call(address, text)
  local list, err, stale = attempt(address, text)
  if not list and stale and (err == "closed" or err == "broken pipe" or err == "connection reset by peer") then
    list, err = attempt(address, text)
  end
  return list, err
end

--- Quotes bytes as a hexadecimal literal: no character of a key can end it.
function M.quote(bytes)
  return "x'" .. bytes:gsub(".", function(c)
    return ("%02x"):format(byte(c))
  end) .. "'"
end

return M
