--- Requests that were recorded: a file of one line a request, `client TAB time_us TAB cost TAB holder`, in order of time.
--
-- `client` is any text without a tab, `holder` who decided it (1 to `balancers`; 0: routed as the scenario says).

local M = {}

local function parse(path, number, line)
  local client, time, cost, holder = line:match("^([^\t]*)\t(%d+)\t(%d+)\t(%d+)$")
  if not client then
    error(("%s:%d isn't a recorded request: write client TAB time_us TAB cost TAB holder"):format(path, number), 0)
  end
  return client, tonumber(time), tonumber(cost), tonumber(holder)
end

local function read(path)
  local file, err = io.open(path)
  if not file then
    error("recorded requests can't be read: " .. err, 0)
  end
  local clients, by_name, number = {}, {}, 0
  for line in file:lines() do
    number = number + 1
    local name, time, cost, holder = parse(path, number, line)
    local client = by_name[name]
    if not client then
      client = { times = {}, costs = {}, holders = {} }
      by_name[name], clients[#clients + 1] = client, client
    end
    local n = #client.times + 1
    client.times[n], client.costs[n], client.holders[n] = time, cost, holder
  end
  file:close()
  return clients
end

local last_path, last_clients

--- The clients of a file, each with `times`, `costs` and `holders`; the last file read is kept.
function M.clients(path)
  if path ~= last_path then
    last_clients = read(path)
    last_path = path
  end
  return last_clients
end

return M
