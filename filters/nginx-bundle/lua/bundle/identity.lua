--- Who asks, and for what kind of answer: the key that requests of one bundle share.
--
-- Pure. A service decides by these headers who may see what, and in which form; requests are put together only where all of them
-- are equal, byte for byte. Each is written with its length, so that no two combinations make one key.

local M = {}

-- What decides an answer everywhere, whatever a route names besides.
local always = { "authorization", "cookie", "host", "accept", "accept-language" }

local function written(value)
  if type(value) == "table" then
    local parts = { #value .. "*" }
    for i, one in ipairs(value) do
      parts[i + 1] = #one .. ":" .. one
    end
    return table.concat(parts)
  end
  return value and #value .. ":" .. value or "-"
end

--- The headers by which a route tells callers apart: those that it names, in small letters, after those that always count.
function M.headers(named)
  local list, there = {}, {}
  for _, names in ipairs({ always, named }) do
    for _, name in ipairs(names) do
      if not there[name:lower()] then
        there[name:lower()] = true
        list[#list + 1] = name:lower()
      end
    end
  end
  return list
end

--- The key of a request.
-- @param headers by name in small letters: a text, or a list of texts for one that came several times
function M.key(route, headers)
  local parts = { written(route.bundle) }
  for _, name in ipairs(route.headers) do
    parts[#parts + 1] = written(headers[name])
  end
  return table.concat(parts)
end

return M
