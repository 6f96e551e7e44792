--- A shared dictionary whose values are numbers in a buffer: no Lua string is made of what is read or written.
--
-- Calls what lua-resty-core calls, with the declarations that it has made.

local ffi = require("ffi")
require("resty.core.shdict")

local C = ffi.C

ffi.cdef([[ void free(void *pointer); ]])

local M = {}
M.__index = M

local as_string, safe_set = 4, 4
local pointer, length = ffi.new("unsigned char *[1]"), ffi.new("size_t[1]")
local kind, flags, stale = ffi.new("int[1]"), ffi.new("int[1]"), ffi.new("int[1]")
local number, reason, forced = ffi.new("double[1]"), ffi.new("char *[1]"), ffi.new("int[1]")

--- A shelf on the dictionary `dict`.
function M.new(dict)
  return setmetatable({ dict = dict, zone = C.ngx_http_lua_ffi_shdict_udata_to_zone(dict[1]) }, M)
end

-- The dictionary gives memory of its own when the value is longer than what the buffer is said to hold.
local function take_over(start, bytes)
  ffi.copy(start, pointer[0], bytes)
  C.free(pointer[0])
end

--- Reads `bytes` bytes of a key's value into `buffer`, and up to `most` (default: no more) when there are; what the value
-- lacks is zero. Returns how many the value has.
function M:read(key, buffer, bytes, most)
  local start = ffi.cast("unsigned char *", buffer)
  pointer[0], length[0], kind[0], reason[0] = start, bytes, 0, nil
  C.ngx_http_lua_ffi_shdict_get(self.zone, key, #key, kind, pointer, length, number, flags, 0, stale, reason)
  local found = kind[0] == as_string and tonumber(length[0]) or 0
  if found > bytes then
    take_over(start, math.min(found, most or bytes))
  elseif found < bytes then
    ffi.fill(start + found, bytes - found)
  end
  return found
end

--- Writes `bytes` bytes, kept for `milliseconds`; true, or nil and "no memory". Never drops what another key holds.
function M:write(key, buffer, bytes, milliseconds)
  local start = ffi.cast("const unsigned char *", buffer)
  local code =
    C.ngx_http_lua_ffi_shdict_store(self.zone, safe_set, key, #key, as_string, start, bytes, 0, milliseconds, 0, reason, forced)
  if code == 0 then
    return true
  end
  return nil, ffi.string(reason[0])
end

--- Makes room: forgets at most `count` expired values, and returns how many.
function M:tidy(count)
  return self.dict:flush_expired(count)
end

return M
