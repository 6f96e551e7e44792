--- All values of a request's header. nginx's own variable tells one of them, and servers differ in which they take.
--
-- Calls what lua-resty-core calls, with the declarations that it has made: no table is made of all headers.

local ffi = require("ffi")
local base = require("resty.core.base")
require("resty.core.request")

local C, byte = ffi.C, string.byte

local M = {}

local elements = ffi.typeof("ngx_http_lua_ffi_table_elt_t *")
local size = ffi.sizeof("ngx_http_lua_ffi_table_elt_t")
local truncated = ffi.new("int[1]")
local without_limit, in_lower_case = 0, 0
local dash, underscore = byte("-"), byte("_")

--- A header's name as `values` wants it. A server that reads names from variables of its own can't tell `_` from `-`.
function M.name(text)
  return (text:lower():gsub("_", "-"))
end

local function is_named(key, name)
  if tonumber(key.len) ~= #name then
    return false
  end
  for i = 1, #name do
    local char = key.data[i - 1]
    if (char == underscore and dash or char) ~= byte(name, i) then
      return false
    end
  end
  return true
end

--- The values of the header `name` in the order of the current request.
function M.values(name)
  local request = base.get_request()
  local count = C.ngx_http_lua_ffi_req_get_headers_count(request, without_limit, truncated)
  local list = ffi.cast(elements, base.get_string_buf(math.max(1, count) * size))
  count = C.ngx_http_lua_ffi_req_get_headers(request, list, count, in_lower_case) == base.FFI_OK and count or 0
  local found = {}
  for i = 0, count - 1 do
    if is_named(list[i].key, name) then
      found[#found + 1] = ffi.string(list[i].value.data, list[i].value.len)
    end
  end
  return found
end

return M
