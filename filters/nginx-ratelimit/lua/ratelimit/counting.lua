--- Counts decisions: by limit and outcome, and by who decided. The names of the series are built once.

local metrics = require("ratelimit.metrics")

local M = {}

--- Counts what became of a request under a limit.
function M.decision(limit, outcome)
  local series = limit.series
  if not series then
    series = {}
    limit.series = series
  end
  if not series[outcome] then
    series[outcome] = metrics.series("ratelimit_decisions_total", "limit", limit.label or limit.name, "outcome", outcome)
  end
  metrics.add(series[outcome])
end

local by_series = {}

--- Counts who decided.
function M.decider(by)
  local series = by_series[by] or metrics.series("ratelimit_decided_by_total", "by", by)
  by_series[by] = series
  metrics.add(series)
end

return M
