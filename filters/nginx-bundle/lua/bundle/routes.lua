--- Which requests are bundled: by path, as it came, and by what else they say.
--
-- Pure. Only a plain request is bundled. One with another method, a query, an id with an escape, a list of ids, a body, a
-- condition or a range goes through as it is. So the answer to a bundled request depends only on its path and its caller.

local M = {}

-- A request with one of these asks for something else than the whole thing as it is now, or sends a body.
local not_plain = {
  "if-match",
  "if-none-match",
  "if-modified-since",
  "if-unmodified-since",
  "if-range",
  "range",
  "expect",
  "upgrade",
  "content-length",
  "transfer-encoding",
}

--- Splits a path at its one placeholder, such as `{id}`.
function M.split(path, placeholder)
  local from, to = path:find(placeholder, 1, true)
  return path:sub(1, from - 1), path:sub(to + 1)
end

local function is_plain(method, headers)
  if method ~= "GET" then
    return false
  end
  for _, name in ipairs(not_plain) do
    if headers[name] then
      return false
    end
  end
  return true
end

-- An id of letters, digits and - . _ ~ (RFC 3986, section 2.3), and no dots alone, which would be another folder.
local function id_of(route, uri)
  local before, after = route.before, route.after
  if #uri <= #before + #after or uri:sub(1, #before) ~= before or uri:sub(#uri - #after + 1) ~= after then
    return nil
  end
  local id = uri:sub(#before + 1, #uri - #after)
  return id:find("^[%w._~-]+$") and id:find("[%w_~-]") and id
end

--- The route of a request and the id that it asks for; nil where it is not bundled.
-- @param uri the path as it came, with its query
function M.match(routes, method, uri, headers)
  if not is_plain(method, headers) then
    return nil
  end
  for _, route in ipairs(routes) do
    local id = id_of(route, uri)
    if id then
      return route, id
    end
  end
end

--- The path that asks for several ids.
function M.bundled(route, ids)
  return route.bundle_before .. table.concat(ids, ",") .. route.bundle_after
end

return M
