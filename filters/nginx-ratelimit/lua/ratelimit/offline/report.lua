--- Reports on decision logs: who was rejected, or would have been, under each limit.

local M = {}

local heading = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by"
local row = "^(%d+)\t[^\t]*\t%d+\t([^\t]+)\t([^\t]+)\t[^\t]+\t%d+\t([01])\t[%d.-]+\t([%w_]+)$"

local function client_of(limit, name)
  local client = limit.clients[name]
  if not client then
    client = { name = name, requests = 0, rejections = 0 }
    limit.clients[name] = client
  end
  return client
end

local function limit_of(limits, name)
  local limit = limits[name]
  if not limit then
    limit = { name = name, requests = 0, rejections = 0, clients = {} }
    limits[name] = limit
  end
  return limit
end

local function extend(holder, time)
  holder.first, holder.last = math.min(holder.first or time, time), math.max(holder.last or time, time)
end

-- `withdrawn` wasn't a rejection by this limit.
local function add(limits, time, client_name, limit_name, allowed, by)
  local limit = limit_of(limits, limit_name)
  local client = client_of(limit, client_name)
  local is_rejected = allowed == "0" and by ~= "withdrawn"
  limit.requests, client.requests = limit.requests + 1, client.requests + 1
  extend(limit, time)
  if is_rejected then
    limit.rejections, client.rejections = limit.rejections + 1, client.rejections + 1
    extend(client, time)
  end
end

--- Adds the lines of a log to `limits`; `problem(line, message)` hears of what is not one. The last line may be cut short.
function M.read(lines, limits, problem)
  local number, cut = 0, nil
  for line in lines do
    number = number + 1
    if cut then
      problem(cut, "isn't a line of a decision log")
      cut = nil
    end
    if line ~= heading then
      local time, client, limit, allowed, by = line:match(row)
      if time then
        add(limits, tonumber(time), client, limit, allowed, by)
      else
        cut = number
      end
    end
  end
end

-- For people. --------------------------------------------------------------------------------------------------------

local function moment(microseconds)
  return os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(microseconds / 1e6))
end

local function sorted(map, before)
  local list = {}
  for _, value in pairs(map) do
    list[#list + 1] = value
  end
  table.sort(list, before)
  return list
end

local function rejected_clients(limit)
  local clients = sorted(limit.clients, function(one, other)
    return one.rejections > other.rejections or one.rejections == other.rejections and one.name < other.name
  end)
  while clients[1] and clients[#clients].rejections == 0 do
    clients[#clients] = nil
  end
  return clients
end

local function share(part, whole)
  return ("%.2f %%"):format(100 * part / whole)
end

local function client_line(client, only_rejections)
  local of = only_rejections and "" or (" of %d"):format(client.requests)
  return ("  %-44s %9d%s  %s to %s"):format(client.name, client.rejections, of, moment(client.first), moment(client.last))
end

local function describe_limit(limit, most)
  local clients, only = rejected_clients(limit), limit.requests == limit.rejections
  local rejected = only and ("%d rejected"):format(limit.rejections)
    or ("%d of %d requests rejected (%s)"):format(limit.rejections, limit.requests, share(limit.rejections, limit.requests))
  local first, last = moment(limit.first), moment(limit.last)
  local lines = { ("%s: %s; clients: %d; %s to %s"):format(limit.name, rejected, #clients, first, last) }
  for i = 1, math.min(most, #clients) do
    lines[#lines + 1] = client_line(clients[i], only)
  end
  if #clients > most then
    lines[#lines + 1] = ("  clients not shown: %d"):format(#clients - most)
  end
  return table.concat(lines, "\n")
end

--- The report in words: each limit, and its `most` clients with the most rejections.
function M.describe(limits, most)
  local parts = {}
  for _, limit in
    ipairs(sorted(limits, function(one, other)
      return one.name < other.name
    end))
  do
    parts[#parts + 1] = describe_limit(limit, most)
  end
  return table.concat(parts, "\n\n")
end

return M
