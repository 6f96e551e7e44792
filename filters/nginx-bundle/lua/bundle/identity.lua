--- Who asks, and for what kind of answer: the key that requests of one bundle share.
--
-- Pure. A service decides by these headers who may see what, and in which form; requests are put together only where all of them
-- are equal, byte for byte. Each is written with its length, so that no two combinations make one key.

local M = {}

-- What decides an answer everywhere, whatever a route names besides: who asks, for whom a proxy asks, and in which form. A
-- target may name a host of its own next to the header's; nginx's variable has it.
local always = {
  "authorization",
  "cookie",
  "host",
  "$host",
  "accept",
  "accept-charset",
  "accept-language",
  "origin",
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-ssl",
  "x-real-ip",
}

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

--- What a route tells callers apart by: the headers and variables of nginx that it names, after the headers that always count.
-- Headers are in small letters; a variable, such as `$remote_addr`, stays as it is.
function M.headers(named)
  local list, there = {}, {}
  for _, names in ipairs({ always, named }) do
    for _, name in ipairs(names) do
      local one = name:sub(1, 1) == "$" and name or name:lower()
      if not there[one] then
        there[one] = true
        list[#list + 1] = one
      end
    end
  end
  return list
end

--- The key of a request.
-- @param headers by name in small letters: a text, or a list of texts for one that came several times
-- @param variables nginx's, by name: a table, or anything that is indexed like one
-- @param sent the variables that nginx itself sends to the service in this location, such as `{ "$remote_addr" }`
function M.key(route, headers, variables, sent)
  local parts = { written(route.bundle) }
  for _, names in ipairs({ route.headers, sent or {} }) do
    for _, name in ipairs(names) do
      local value = headers[name]
      if name:sub(1, 1) == "$" then
        value = variables[name:sub(2)]
      end
      parts[#parts + 1] = written(value)
    end
  end
  return table.concat(parts)
end

return M
