--- A pooled cosocket with one deadline for everything: connecting, greeting, sending and receiving.
--
-- `address` is a table: host and port, or path (Unix socket); timeout (seconds, for the whole exchange), pool_size,
-- idle (seconds a pooled connection is kept), pool (name: connections that greeted alike), tls (verify, server_name).

local M = {}
M.__index = M

-- Requests that wait for one of `pool_size` connections; their deadline runs meanwhile.
local waiting_for_connection = 4096

local function connect(socket, address)
  local options = { pool = address.pool, pool_size = address.pool_size, backlog = waiting_for_connection }
  if address.path then
    return socket:connect("unix:" .. address.path, options)
  end
  return socket:connect(address.host, address.port, options)
end

local function secure(socket, address)
  if not address.tls then
    return true
  end
  return socket:sslhandshake(nil, address.tls.server_name or address.host, address.tls.verify)
end

--- The same address with more time: for a connection that is made ahead, not for a request that waits.
function M.patient(address, seconds)
  return setmetatable({ timeout = seconds }, { __index = address })
end

--- Opens a connection, or takes one from the pool; `reused` tells which.
function M.open(address)
  local socket = ngx.socket.tcp()
  local self = setmetatable({ socket = socket, address = address }, M)
  self.deadline = ngx.now() + address.timeout
  self:hurry()
  local ok, err = connect(socket, address)
  if not ok then
    return nil, err
  end
  self.reused = (socket:getreusedtimes() or 0) > 0
  if not self.reused then
    ok, err = secure(socket, address)
    if not ok then
      socket:close()
      return nil, "TLS handshake: " .. tostring(err)
    end
  end
  return self
end

--- Gives the next step what is left of the deadline.
function M:hurry()
  local left = math.max(1, math.floor((self.deadline - ngx.now()) * 1000))
  self.socket:settimeouts(left, left, left)
end

function M:send(bytes)
  self:hurry()
  return self.socket:send(bytes)
end

function M:receive(what)
  self:hurry()
  return self.socket:receive(what)
end

--- Returns the connection to the pool; only after a whole and welcome answer.
function M:keep()
  return self.socket:setkeepalive(self.address.idle * 1000, self.address.pool_size)
end

function M:close()
  return self.socket:close()
end

return M
