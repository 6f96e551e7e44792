--- Hot keys: who asks most under each limit, and who is rejected most, in the last one to two minutes.
--
-- Each worker counts in bounded memory and publishes a summary every second; a reader adds up those of all workers. A
-- summary that is not renewed goes away, as its worker has.

local cjson = require("cjson.safe")
local frequent = require("ratelimit.frequent")
local metrics = require("ratelimit.metrics")

local M = {}

local period, kept_for = 60, 3
local ranks = 5
local kinds = { "requests", "rejections" }

local most = 0
local kept = {}

local function generation(now)
  return { since = now, requests = frequent.new(most), rejections = frequent.new(most) }
end

--- Takes over how many keys the rules ask for; forgets limits that have gone.
function M.prepare(rules)
  local old = rules.hot_keys == most and kept or {}
  most, kept = rules.hot_keys, {}
  for _, limit in ipairs(rules.limits) do
    kept[limit.name] = most > 0 and (old[limit.name] or generation(ngx.now())) or nil
  end
end

local function entry_of(limit)
  limit.hot = kept[limit.label or limit.name] or false
  return limit.hot
end

--- Counts a request of a client under a limit.
function M.count(limit, client, is_rejected)
  local entry = limit.hot
  if entry == nil then
    entry = entry_of(limit)
  end
  if entry then
    entry.requests:add(client, 1)
    if is_rejected then
      entry.rejections:add(client, 1)
    end
  end
end

-- The limits of the rules point to their entry, so a new period begins in the entry itself.
local function turn(entry, now)
  if now - entry.since >= period then
    entry.before = { since = entry.since, requests = entry.requests, rejections = entry.rejections }
    local fresh = generation(now)
    entry.since, entry.requests, entry.rejections = now, fresh.requests, fresh.rejections
  end
end

local function both(entry, kind)
  local found = entry[kind]
  return (entry.before and entry.before[kind]:merge(found) or found):compact()
end

local function written(summary)
  return { counts = summary.counts, over = summary.over, floor = summary.floor, total = summary.total }
end

local function place(worker, name)
  return ("hot %d %s"):format(worker, name)
end

--- Publishes what this worker has counted.
function M.publish()
  local now, cache = ngx.now(), ngx.shared.ratelimit_cache
  for name, entry in pairs(kept) do
    turn(entry, now)
    local published = { seconds = now - (entry.before or entry).since }
    for _, kind in ipairs(kinds) do
      published[kind] = written(both(entry, kind))
    end
    cache:set(place(ngx.worker.id(), name), cjson.encode(published), kept_for)
  end
end

local function read(published)
  local summary = frequent.new(most)
  for key, count in pairs(published.counts) do
    summary.counts[key], summary.over[key], summary.size = count, published.over[key], summary.size + 1
  end
  summary.floor, summary.total = published.floor, published.total
  return summary
end

local function add(sum, published)
  sum.seconds = math.max(sum.seconds, published.seconds)
  for _, kind in ipairs(kinds) do
    sum[kind] = sum[kind]:merge(read(published[kind]))
  end
end

-- What all workers have counted under a limit.
local function of_all(name)
  local sum = { seconds = 0, requests = frequent.new(most), rejections = frequent.new(most) }
  for worker = 0, ngx.worker.count() - 1 do
    local published = cjson.decode(ngx.shared.ratelimit_cache:get(place(worker, name)) or "")
    if published then
      add(sum, published)
    end
  end
  return sum
end

local function listed(summary)
  local list = {}
  for i, entry in ipairs(summary:top()) do
    list[i] = { client = entry.key, count = entry.count, at_most_over = entry.over }
  end
  return list
end

local function described(limit)
  local sum = of_all(limit.name)
  return {
    name = limit.name,
    algorithm = limit.algorithm,
    limit = limit.limit,
    window_seconds = limit.window / 1e6,
    rejects = limit.binding,
    seconds = sum.seconds,
    requests = sum.requests.total,
    rejections = sum.rejections.total,
    most_requests = listed(sum.requests),
    most_rejections = listed(sum.rejections),
  }
end

--- What is hot, as JSON for the page: one entry a limit, its clients with the most requests and rejections.
-- A client's count is above the truth by at most `at_most_over`.
function M.json(rules)
  local limits = {}
  for i, limit in ipairs(rules.limits) do
    limits[i] = described(limit)
  end
  local text = cjson.encode({ balancer = rules.balancer, dry_run = rules.dry_run, hot_keys = most, limits = limits })
  -- lua-cjson writes an empty list as an empty object, of which there is none.
  return (text:gsub('":{}', '":[]'))
end

local help = {
  requests = "Requests per second of the busiest keys, by limit and rank, over one to two minutes; names: /hot-keys.json.",
  rejections = "Rejections per second of the keys with the most, by limit and rank, over one to two minutes.",
}

-- Ranks and no names: a key may be a secret, and every new one would be a new series.
local function gauge(rules, kind)
  local name = ("ratelimit_hot_key_%s_per_second"):format(kind)
  local lines = { ("# HELP %s %s\n# TYPE %s gauge\n"):format(name, help[kind], name) }
  for _, limit in ipairs(rules.limits) do
    local sum = of_all(limit.name)
    for rank, entry in ipairs(sum[kind]:top()) do
      if rank <= ranks and sum.seconds > 0 then
        local series = metrics.series(name, "limit", limit.name, "rank", rank)
        lines[#lines + 1] = ("%s %.6g\n"):format(series, entry.count / sum.seconds)
      end
    end
  end
  return table.concat(lines)
end

--- The gauges for Prometheus: rates of the hottest keys, and whether the rules are a dry run.
function M.gauges(rules)
  local heading = "# HELP ratelimit_dry_run 1 while the rules count and log, and reject nobody.\n# TYPE ratelimit_dry_run gauge\n"
  local dry = ("%sratelimit_dry_run %d\n"):format(heading, rules.dry_run and 1 or 0)
  return dry .. (most > 0 and gauge(rules, "requests") .. gauge(rules, "rejections") or "")
end

local page

--- The page that shows them: one file, which asks for nothing but `hot-keys.json` next to it.
function M.page()
  if not page then
    local path = debug.getinfo(1, "S").source:match("^@(.*)%.lua$") .. ".html"
    local file = assert(io.open(path, "rb"))
    page = file:read("*a")
    file:close()
  end
  return page
end

return M
