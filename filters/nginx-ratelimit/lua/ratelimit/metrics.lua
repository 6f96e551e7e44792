--- Counts what the filter does: in the worker, added up in shared memory every half second, shown in Prometheus's text format.

local M = {}

local counts = {}

local help = {
  ratelimit_decisions_total = "Decisions by limit and outcome (allowed, rejected, shadow_rejected, withdrawn, denied, exempt).",
  ratelimit_decided_by_total = "Where decisions were made: store, lease, over_limit_cache, policy_(open|closed|local).",
  ratelimit_store_failures_total = "Store calls that failed, by reason.",
  ratelimit_store_skipped_total = "Requests that did not ask a store because its breaker was open.",
  ratelimit_store_seconds = "Time that a store call took.",
  ratelimit_refused_keys_total = "New keys refused because the shared memory is full; no other client's state was dropped.",
  ratelimit_lease_batches_total = "Batches of quota taken, by limit and mode.",
  ratelimit_lease_settled_total = "Batches settled on expiry or idleness, by limit and verb (report, refund).",
  ratelimit_missing_keys_total = "Requests without the key that a limit asks for.",
  ratelimit_ambiguous_keys_total = "Requests that say the key of a limit more than once, refused with 400.",
  ratelimit_plan_reloads_total = "Times that rules were loaded, by result (ok, bad).",
  ratelimit_evictions_total = "Cached rejections that made room for others; costs a store call, loses no state.",
  ratelimit_faults_total = "Errors inside the filter; the limits' policies (when_store_fails) decided.",
}

local bounds = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1 }
local bound_text = {}
for i, bound in ipairs(bounds) do
  bound_text[i] = ("%g"):format(bound)
end

local function escape(value)
  return (tostring(value):gsub('[\\"\n]', { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }))
end

--- The name of a series, built once by who counts often.
function M.series(name, ...)
  local labels, pairs_of = {}, { ... }
  for i = 1, #pairs_of, 2 do
    labels[#labels + 1] = ('%s="%s"'):format(pairs_of[i], escape(pairs_of[i + 1]))
  end
  return #labels == 0 and name or ("%s{%s}"):format(name, table.concat(labels, ","))
end

--- Adds to a series.
function M.add(series, amount)
  counts[series] = (counts[series] or 0) + (amount or 1)
end

--- The series of a latency histogram for one store.
function M.histogram(store)
  local out = { buckets = {} }
  for i, bound in ipairs(bound_text) do
    out.buckets[i] = M.series("ratelimit_store_seconds_bucket", "store", store, "le", bound)
  end
  out.all = M.series("ratelimit_store_seconds_bucket", "store", store, "le", "+Inf")
  out.sum = M.series("ratelimit_store_seconds_sum", "store", store)
  out.count = M.series("ratelimit_store_seconds_count", "store", store)
  return out
end

--- Counts a duration in seconds.
function M.observe(histogram, seconds)
  for i = 1, #bounds do
    if seconds <= bounds[i] then
      M.add(histogram.buckets[i])
    end
  end
  M.add(histogram.all)
  M.add(histogram.count)
  M.add(histogram.sum, seconds)
end

--- Adds the worker's counts to the shared ones.
function M.flush()
  local shared = ngx.shared.ratelimit_metrics
  for series, amount in pairs(counts) do
    shared:incr(series, amount, 0)
    counts[series] = nil
  end
end

local function family(series)
  local name = series:match("^[%w_]+")
  return name:gsub("_bucket$", ""):gsub("_sum$", ""):gsub("_count$", "")
end

local function heading(name)
  local kind = name:find("_total$") and "counter" or "histogram"
  return ("# HELP %s %s\n# TYPE %s %s\n"):format(name, help[name] or name, name, kind)
end

--- The page for Prometheus.
function M.page()
  M.flush()
  local shared = ngx.shared.ratelimit_metrics
  local names, out, last = shared:get_keys(0), {}, nil
  table.sort(names)
  for _, series in ipairs(names) do
    local name = family(series)
    if name ~= last then
      out[#out + 1], last = heading(name), name
    end
    out[#out + 1] = ("%s %.17g\n"):format(series, shared:get(series) or 0)
  end
  return table.concat(out)
end

return M
