--- What the specs share: seeded arrivals, files, requests.

local M = {}

--- Its own small generator, so that a seed means the same arrivals on every machine.
function M.random(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n
  end
end

function M.read(name)
  local file = assert(io.open(name))
  local text = file:read("*a")
  file:close()
  return text
end

return M
