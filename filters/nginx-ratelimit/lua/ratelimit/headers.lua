--- All values of a request's header. nginx's own variable tells one of them, and servers differ in which they take.
--
-- Calls what lua-resty-core calls, with the declarations that it has made: no table is made of all headers.

local ffi = require("ffi")
local base = require("resty.core.base")
local fields = require("ratelimit.fields")
require("resty.core.request")

ffi.cdef([[
int memcmp(const void *a, const void *b, size_t length);
void *memchr(const void *bytes, int byte, size_t length);
]])

local C, byte = ffi.C, string.byte

local M = {}

local elements = ffi.typeof("ngx_http_lua_ffi_table_elt_t *")
local size = ffi.sizeof("ngx_http_lua_ffi_table_elt_t")
local truncated = ffi.new("int[1]")
local without_limit, in_lower_case = 0, 0
local dash, underscore = byte("-"), byte("_")

--- A header's name as this module wants it.
M.name = fields.name

local function is_spelled_otherwise(key, name)
  for i = 1, #name do
    local char = key.data[i - 1]
    if (char == underscore and dash or char) ~= byte(name, i) then
      return false
    end
  end
  return true
end

local function is_named(key, name)
  local length = #name
  if key.len ~= length then
    return false
  elseif C.memcmp(key.data, name, length) == 0 then
    return true
  end
  return C.memchr(key.data, underscore, length) ~= nil and is_spelled_otherwise(key, name)
end

local search = fields.searching(is_named)

local function all()
  local request = base.get_request()
  local count = C.ngx_http_lua_ffi_req_get_headers_count(request, without_limit, truncated)
  local list = ffi.cast(elements, base.get_string_buf(math.max(1, count) * size))
  if C.ngx_http_lua_ffi_req_get_headers(request, list, count, in_lower_case) ~= base.FFI_OK then
    return list, 0
  end
  return list, count
end

local function value(list, at)
  return fields.trimmed(ffi.string(list[at].value.data, list[at].value.len))
end

--- The first value of the header `name` of the current request, and whether there are more; nil when there is none.
function M.first(name)
  local list, count = all()
  local at = search(list, count, name, 0)
  if at < 0 then
    return nil, false
  end
  return value(list, at), search(list, count, name, at + 1) >= 0
end

--- All values of the header `name` in the order of the current request.
function M.values(name)
  local list, count = all()
  local found, at = {}, search(list, count, name, 0)
  while at >= 0 do
    found[#found + 1] = value(list, at)
    at = search(list, count, name, at + 1)
  end
  return found
end

return M
