--- What the workers of one nginx counted since its start, and which rules each of them has in force.

local json = require("cjson.safe")

local M = {}

local names = {
  -- requests to routes that are bundled
  "requests",
  -- calls to the servers behind for them
  "calls",
  -- calls among these that carried several requests
  "bundles",
  -- requests that went in these
  "bundled",
  -- calls among these that asked for as many different things as they may
  "full",
  -- microseconds that requests waited for others, all together
  "waited_us",
  -- requests that continued alone, since as many waited as may
  "overflows",
  -- errors of the filter itself
  "faults",
}

local function shared()
  return ngx.shared.bundle_counts
end

function M.add(name, count)
  shared():incr(name, count or 1, 0)
end

--- Tells that this worker has rules in force.
function M.in_force(change)
  shared():set("change:" .. ngx.worker.id(), change)
end

-- The change of each worker's rules; nothing for one that has not begun yet.
local function changes()
  local list = {}
  for worker = 0, ngx.worker.count() - 1 do
    list[worker + 1] = shared():get("change:" .. worker) or ""
  end
  return list
end

--- All of it as JSON.
function M.page()
  local page = { changes = changes() }
  for _, name in ipairs(names) do
    page[name] = shared():get(name) or 0
  end
  return json.encode(page)
end

return M
