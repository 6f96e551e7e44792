--- A pooled cosocket with one deadline for everything: connecting, greeting, sending and receiving.
--
-- `address` is a table: host and port, or path (Unix socket); timeout (seconds, for the whole exchange), pool_size,
-- idle (seconds a pooled connection is kept), pool (name: connections that greeted alike), tls (verify, server_name),
-- connections ("new": each exchange has its own, for measurements).
-- All bytes that have come are read at once and cut into lines and packets here: an answer mostly costs one call of the socket.

local clock = require("ratelimit.clock")

local ceil, find, sub = math.ceil, string.find, string.sub

local M = {}
M.__index = M

-- Requests that wait for one of `pool_size` connections; their deadline runs meanwhile.
local waiting_for_connection = 4096

-- Connections older than this are left to idle and close: a name or a moved address may mean another server by now.
local greatest_age = 60e6

-- The pools that requests use, by the addresses' names of them: a change of the rules leaves them as they are.
local pools, made = {}, 0

local function make_pool(address)
  made = made + 1
  local options = { pool = address.pool .. "|" .. made, pool_size = address.pool_size, backlog = waiting_for_connection }
  return { options = options, made_at = clock.steady() }
end

local function pool_of(address)
  local pool = pools[address.pool]
  if not pool then
    pool = make_pool(address)
    pools[address.pool] = pool
  end
  return pool
end

--- Whether the connections to an address have come of age.
function M.is_old(address)
  return clock.steady() - pool_of(address).made_at >= greatest_age
end

-- Leaves all connections of a pool, once: the next request makes a new one.
local function leave(address, pool)
  if pools[address.pool] == pool then
    pools[address.pool] = nil
  end
end

local function connect(socket, address, options)
  if address.path then
    return socket:connect("unix:" .. address.path, options)
  end
  return socket:connect(address.host, address.port, options)
end

--- The same address with more time: for a call that no request waits for.
function M.patient(address, seconds)
  return setmetatable({ timeout = seconds }, { __index = address })
end

--- A patient address for connections that are made ahead: into a pool of their own when those in use have come of age.
function M.ahead(address, seconds)
  local patient = M.patient(address, seconds)
  patient.next_pool = M.is_old(address) and make_pool(address) or pool_of(address)
  return patient
end

--- From now on requests use the connections that were made `ahead`.
function M.use(ahead)
  pools[ahead.pool] = ahead.next_pool
end

--- When a call that begins now has to be over, on the steady clock.
function M.deadline(address)
  return clock.steady() + address.timeout * 1e6
end

--- Opens a connection, or takes one from the pool; `reused` tells which.
-- @param deadline for all that is done with it (default: the address's timeout from now)
function M.open(address, deadline)
  local socket = ngx.socket.tcp()
  local self = setmetatable({ socket = socket, address = address, buffer = "", at = 1 }, M)
  self.deadline, self.pool = deadline or M.deadline(address), address.next_pool or pool_of(address)
  local ok, err = self:hurry()
  if ok then
    ok, err = connect(socket, address, self.pool.options)
  end
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
  local ok, err = self:hurry()
  if not ok then
    return nil, err
  end
  ok, err = self.socket:sslhandshake(nil, tls.server_name or self.address.host, tls.verify)
  if not ok then
    return nil, "TLS handshake: " .. tostring(err)
  end
  return true
end

--- Gives the next step what is left of the deadline; nil and "timeout" when that is nothing.
function M:hurry()
  local left = ceil((self.deadline - clock.steady()) / 1000)
  if left < 1 then
    return nil, "timeout"
  elseif left ~= self.left then
    self.socket:settimeouts(left, left, left)
    self.left = left
  end
  return true
end

function M:send(bytes)
  local ok, err = self:hurry()
  if not ok then
    return nil, err
  end
  return self.socket:send(bytes)
end

local chunk, longest_line = 65536, 65536

-- Waits until more has come.
local function more(self)
  local ok, err = self:hurry()
  if not ok then
    return nil, err
  end
  local bytes
  bytes, err = self.socket:receiveany(chunk)
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

--- Marks the server as one that does not serve us (a replica since a failover, say): all connections to it are left.
function M:distrust()
  self.is_distrusted = true
end

--- Returns the connection to the pool; only after a whole and welcome answer, of which nothing is left over.
function M:keep()
  if self.is_distrusted then
    leave(self.address, self.pool)
    return self:close()
  end
  if self.at <= #self.buffer or self.address.connections == "new" then
    return self:close()
  end
  return self.socket:setkeepalive(self.address.idle * 1000, self.address.pool_size)
end

function M:close()
  return self.socket:close()
end

local function attempt(address, greet, talk, request, deadline)
  local open, err = M.open(address, deadline)
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
-- @param deadline for both together (default: the address's timeout from now)
-- @return the reply, or nil and a reason
function M.exchange(address, greet, talk, request, deadline)
  deadline = deadline or M.deadline(address)
  local reply, err, reused = attempt(address, greet, talk, request, deadline)
  if reply == nil and reused and gone[err] then
    reply, err = attempt(address, greet, talk, request, deadline)
  end
  return reply, err
end

return M
