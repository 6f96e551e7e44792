--- The MySQL client protocol, as much as a store needs: greeting, authentication, text queries, several results.
--
-- Authenticates by mysql_native_password, MariaDB's client_ed25519 and MySQL's caching_sha2_password. Packets are decoded
-- apart from the socket, so that tests need no server. Reference: the client/server protocol chapters of both manuals.

local bit = require("bit")
local connection = require("ratelimit.wire.connection")
local crypto = require("ratelimit.wire.crypto")
local ed25519 = require("ratelimit.wire.ed25519")

local byte, char, sub, rep, find = string.byte, string.char, string.sub, string.rep, string.find

local M = {}

local longest_packet = 1048576

-- LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH
local capabilities = 0x1 + 0x8 + 0x200 + 0x2000 + 0x8000 + 0x10000 + 0x20000 + 0x80000
local with_tls = 0x800
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

--- The reason in an ERR packet, and its code.
function M.failure(packet)
  local code, text = little(packet, 2, 2), sub(packet, 4)
  return ("MySQL error %d: %s"):format(code, (text:gsub("^#.....", ""))), code
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
  local tls = bit.band(little(packet, at + 9, 2), with_tls) ~= 0
  return { scramble = first .. rest, plugin = packet:match("^[^%z]*", at + 40), tls = tls }
end

local function xor(bytes, mask)
  local out = {}
  for i = 1, #bytes do
    out[i] = char(bit.bxor(byte(bytes, i), byte(mask, (i - 1) % #mask + 1)))
  end
  return table.concat(out)
end

-- The plugins, all alike: `prove` answers the scramble; `continue`, if any, answers what the server sends after that.
-- @return `continue`: what to send, or nil and a reason; "" when there is nothing to send
M.plugins = {}

M.plugins.mysql_native_password = {
  prove = function(password, scramble)
    local once = crypto.sha1(password)
    return password == "" and "" or xor(once, crypto.sha1(sub(scramble, 1, 20) .. crypto.sha1(once)))
  end,
}

M.plugins.client_ed25519 = {
  prove = function(password, scramble)
    return ed25519.sign(password, sub(scramble, 1, 32))
  end,
}

local fast_success, full_wanted = "\3", "\4"

-- The password itself is only told to whom no one can pose as (a Unix socket, a verified certificate), or enciphered for a key
-- that the rules names.
local function send_password(address, scramble)
  local text = address.password .. "\0"
  if address.path or address.tls and address.tls.verify then
    return text
  elseif address.public_key then
    return crypto.rsa_oaep(address.public_key, xor(text, sub(scramble, 1, 20)))
  end
  return nil,
    "the server needs the cleartext password (caching_sha2_password, first log-in since its start); "
      .. "reach it over a Unix socket or tls that verifies, or give its public_key_file"
end

M.plugins.caching_sha2_password = {
  prove = function(password, scramble)
    local once = crypto.sha256(password)
    return password == "" and "" or xor(once, crypto.sha256(crypto.sha256(once) .. sub(scramble, 1, 20)))
  end,
  continue = function(address, scramble, data)
    if data == fast_success then
      return ""
    elseif data == full_wanted then
      return send_password(address, scramble)
    end
    return nil, "the server sent something unknown while authenticating"
  end,
}

local function login_header(flags)
  return to_little(flags, 4) .. to_little(longest_packet, 4) .. char(utf8mb4_bin) .. rep("\0", 23)
end

--- What asks for TLS, before the answer to the greeting.
function M.ask_for_tls()
  return login_header(capabilities + with_tls)
end

--- The answer to the greeting, and the name of the plugin that it speaks; or nil and a reason.
function M.login(address, greeting)
  local plugin = M.plugins[greeting.plugin] and greeting.plugin or "mysql_native_password"
  local proof, err = M.plugins[plugin].prove(address.password, greeting.scramble)
  if not proof then
    return nil, err
  end
  return login_header(capabilities + (address.tls and with_tls or 0))
    .. address.user
    .. "\0"
    .. char(#proof)
    .. proof
    .. address.database
    .. "\0"
    .. plugin
    .. "\0",
    plugin
end

--- The answer to a request for another plugin: proof, plugin and scramble; or nil and a reason.
function M.switch(address, packet)
  local plugin, scramble = packet:match("^([^%z]*)%z(.*)$", 2)
  if not M.plugins[plugin] then
    local allowed = "caching_sha2_password, client_ed25519, mysql_native_password"
    return nil, ("the server asks for authentication by %s; allowed: %s"):format(tostring(plugin), allowed)
  end
  local proof, err = M.plugins[plugin].prove(address.password, scramble)
  return proof, proof and plugin or err, scramble
end

--- The answer to what a server sends after the proof; nil and a reason when there is none.
function M.continue(address, plugin, scramble, data)
  local continue = M.plugins[plugin].continue
  if not continue then
    return nil, "authentication by " .. plugin .. " asks for more than one exchange"
  end
  return continue(address, scramble, data)
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

-- Answers the server until it welcomes or refuses us. Packets begin with: 0 welcome, 255 error, 254 another plugin, 1 more
-- data.
local function authenticate(open, address, plugin, scramble)
  while true do
    local packet, err = read_packet(open)
    local kind = packet and byte(packet)
    local answer
    if not packet then
      return nil, err
    elseif kind == 0 then
      return true
    elseif kind == 255 then
      return nil, M.failure(packet)
    elseif kind == 254 then
      answer, plugin, scramble = M.switch(address, packet)
      err = plugin
    elseif kind == 1 then
      answer, err = M.continue(address, plugin, scramble, sub(packet, 2))
    else
      return nil, "the server sent something unknown while authenticating"
    end
    if not answer then
      return nil, err
    elseif answer ~= "" or kind == 254 then
      write_packet(open, answer)
    end
  end
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

--- Sends a query and collects the rows of all its results; or nil, a reason and, when the server refused it, its code.
function M.query(open, text)
  open.sequence = 0
  local ok, err = write_packet(open, "\3" .. text)
  local list = {}
  while ok do
    local status, code
    status, err, code = result(open, list)
    if not status then
      return nil, err, code
    elseif bit.band(status, 8) == 0 then
      return list
    end
  end
  return nil, err
end

local function read_greeting(open)
  local packet, err = read_packet(open)
  if not packet then
    return nil, err
  end
  return M.greeting(packet)
end

local function start_tls(open, address, greeting)
  if not address.tls then
    return true
  elseif not greeting.tls then
    return nil, "the server does not speak TLS"
  end
  local ok, err = write_packet(open, M.ask_for_tls())
  if ok then
    ok, err = open:secure()
  end
  return ok, err
end

local function log_in(open, address, greeting)
  local text, plugin = M.login(address, greeting)
  if not text then
    return nil, plugin
  end
  local ok, err = write_packet(open, text)
  if not ok then
    return nil, err
  end
  return authenticate(open, address, plugin, greeting.scramble)
end

local function greet(open, address)
  local greeting, err = read_greeting(open)
  local ok = greeting
  for _, step in ipairs(greeting and { start_tls, log_in } or {}) do
    ok, err = step(open, address, greeting)
    if not ok then
      return nil, err
    end
  end
  if ok and address.setup then
    ok, err = M.query(open, address.setup)
  end
  return ok, err
end

--- Sends one query over a pooled connection and returns the rows of all its results, or what `talk` makes of it.
-- @param deadline when it has to be done, on the steady clock (default: the address's timeout from now)
function M.call(address, text, talk, deadline)
  return connection.exchange(address, greet, talk or M.query, text, deadline)
end

--- Quotes bytes as a hexadecimal literal: no character of a key can end it.
function M.quote(bytes)
  return "x'" .. bytes:gsub(".", function(c)
    return ("%02x"):format(byte(c))
  end) .. "'"
end

return M
