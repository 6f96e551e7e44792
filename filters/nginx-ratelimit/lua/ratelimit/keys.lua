--- What a client is called in a store: any bytes of a key are made harmless. Pure: no clock, no I/O.

local ffi = require("ffi")
local crypto = require("ratelimit.wire.crypto")

local M = {}

ffi.cdef([[ size_t strspn(const char *text, const char *accepted); ]])

local plain_length = 64
local plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"

local function hex(bytes)
  return (bytes:gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

--- At most 64 safe characters: the value itself when it is short and plain, else a digest. Only a digest contains a colon.
function M.harmless(value)
  -- Not a pattern: the compiler of LuaJIT knows C functions, and no patterns.
  if #value <= plain_length and value ~= "" and tonumber(ffi.C.strspn(value, plain)) == #value then
    return value
  end
  return "h:" .. hex(crypto.sha256(value):sub(1, 20))
end

--- A name for a client in safe characters: where its key comes from, and the key. Only the first `=` isn't part of the key,
-- so values of different sources are never confused.
function M.client(source, value)
  return source .. "=" .. M.harmless(value)
end

--- The place of a limit's state; what is in braces decides the slot in a Redis Cluster.
function M.storage(limit, client)
  return "pb:{" .. client .. "}:" .. limit.tag
end

--- The same in shared memory, where every byte is hashed bit by bit: the tag's digest, always of one length, and the client.
function M.nearby(limit, client)
  return limit.digest .. client
end

return M
