--- A pooled cosocket with one deadline for everything: connecting, greeting, sending and receiving.
--
-- `address` is a table: host and port, or path (Unix socket); timeout (seconds, for the whole exchange), pool_size,
-- idle (seconds a pooled connection is kept), pool (name: connections that greeted alike), tls (verify, server_name).
-- All bytes that have come are read at once and cut into lines and packets here: an answer mostly costs one call of the socket.

local find, sub = string.find, string.sub

local M = {}
M.__index = M

-- Requests that wait for one of `pool_size` connections; their deadline runs meanwhile.
local waiting_for_connection = 4096

local function connect(socket, address)
  local options = address.options
  if not options then
    options = { pool = address.pool, pool_size = address.pool_size, backlog = waiting_for_connection }
    address.options = options
  end
  if address.path then
    return socket:connect("unix:" .. address.path, options)
  end
  return socket:connect(address.host, address.port, options)
end

--- The same address with more time: for a connection that is made ahead, not for a request that waits.
function M.patient(address, seconds)
  return setmetatable({ timeout = seconds }, { __index = address })
end

--- Opens a connection, or takes one from the pool; `reused` tells which.
function M.open(address)
  local socket = ngx.socket.tcp()
  local self = setmetatable({ socket = socket, address = address, buffer = "", at = 1 }, M)
  self.deadline = ngx.now() + address.timeout
  self:hurry()
  local ok, err = connect(socket, address)
  if not ok then
    return nil, err
  end
  self.reused = (socket:getreusedtimes() or 0) > 0
  return self
end

--- Goes over to TLS, when the address asks for it.
function M:secure()
  local tls = self.address.tls
  if not tls then
    return true
  end
  local ok, err = self.socket:sslhandshake(nil, tls.server_name or self.address.host, tls.verify)
  if not ok then
    return nil, "TLS handshake: " .. tostring(err)
  end
  return true
end

--- Gives the next step what is left of the deadline.
function M:hurry()
  local now = ngx.now()
  if now ~= self.hurried then
    local left = math.max(1, math.floor((self.deadline - now) * 1000))
    self.socket:settimeouts(left, left, left)
    self.hurried = now
  end
end

function M:send(bytes)
  return self.socket:send(bytes)
end

local chunk, longest_line = 65536, 65536

-- Waits until more has come.
local function more(self)
  self:hurry()
  local bytes, err = self.socket:receiveany(chunk)
  if not bytes then
    return nil, err
  end
  self.buffer = self.at > #self.buffer and bytes or sub(self.buffer, self.at) .. bytes
  self.at = 1
  return true
end

local function wait_for_line(self)
  local stop
  repeat
    if #self.buffer - self.at > longest_line then
      return nil, "line too long"
    end
    local ok, err = more(self)
    if not ok then
      return nil, err
    end
    stop = find(self.buffer, "\r\n", self.at, true)
  until stop
  return stop
end

local function wait_for_bytes(self, count)
  repeat
    local ok, err = more(self)
    if not ok then
      return nil, err
    end
  until #self.buffer - self.at + 1 >= count
  return true
end

-- A line that is in the buffer already is cut without a loop, which LuaJIT's compiler prefers.
local function receive_line(self)
  local stop = find(self.buffer, "\r\n", self.at, true)
  if not stop then
    local found, err = wait_for_line(self)
    if not found then
      return nil, err
    end
    stop = found
  end
  local from = self.at
  self.at = stop + 2
  return sub(self.buffer, from, stop - 1)
end

local function receive_bytes(self, count)
  if #self.buffer - self.at + 1 < count then
    local ok, err = wait_for_bytes(self, count)
    if not ok then
      return nil, err
    end
  end
  local from = self.at
  self.at = from + count
  return sub(self.buffer, from, from + count - 1)
end

--- Receives a line without its end ("*l"), or a number of bytes.
function M:receive(what)
  return (what == "*l" and receive_line or receive_bytes)(self, what)
end

--- Returns the connection to the pool; only after a whole and welcome answer, of which nothing is left over.
function M:keep()
  if self.at <= #self.buffer then
    return self:close()
  end
  return self.socket:setkeepalive(self.address.idle * 1000, self.address.pool_size)
end

function M:close()
  return self.socket:close()
end

local function attempt(address, greet, talk, request)
  local open, err = M.open(address)
  if not open then
    return nil, err
  end
  local ok, reply = true, nil
  if not open.reused then
    ok, err = greet(open, address)
  end
  if ok then
    reply, err = talk(open, request)
  end
  if reply == nil then
    open:close()
    return nil, err, open.reused
  end
  open:keep()
  return reply
end

local gone = { closed = true, ["broken pipe"] = true, ["connection reset by peer"] = true }

--- Makes one exchange over a pooled connection.
-- A new connection is greeted first. After any error the connection is closed, so that nothing half done comes into the pool.
-- A pooled connection that the server has closed meanwhile is replaced once; nothing else is retried.
-- @param greet `(open, address)` -> true, or nil and a reason
-- @param talk `(open, request)` -> reply (not nil), or nil and a reason
-- @return the reply, or nil and a reason
function M.exchange(address, greet, talk, request)
  local reply, err, reused = attempt(address, greet, talk, request)
  if reply == nil and reused and gone[err] then
    reply, err = attempt(address, greet, talk, request)
  end
  return reply, err
end

return M
