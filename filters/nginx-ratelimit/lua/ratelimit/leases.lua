--- Leases: a balancer takes a batch of quota from the store and decides from it without asking.
--
-- `eager` reserves the batch in the store before use and gives back what is left when the lease expires.
-- `lazy` reads what remains, uses a share of it, and reports the use when the batch is empty or the lease expires.
-- The size is `share` of what remains (static), at most `most`; dynamic also looks at the client's recent rate.
--
-- Bounds, with N holders (balancers x workers; balancers, where their workers share it), largest batch n, lease time T, window W:
--   eager, fixed window:     at most limit in every window; at most (N - 1) * n stranded (rejected too early) until T ends.
--   eager, sliding windows:  at most limit + N * n in any stretch of W, as a unit may be used up to T after it was booked.
--   eager, token bucket:     at most burst + rate * time + N * n in any stretch of time, for the same reason.
--   lazy, fixed window:      at most limit + (N - 1) * n in every window: what the others hold unreported is not seen.
--   lazy, sliding windows:   at most limit + (N - 1) * n in any stretch of W (reports come late, so they also leave late).
--   lazy, token bucket:      at most burst + rate * time + (N - 1) * n in any stretch of time.
-- A sliding window counter is an estimate: its own excess (below limit) comes on top of its bounds.
-- A store that shows reports after a staleness S adds, for each lazy bound, what the other holders use in S. M sidecars (crdt),
-- which see each other's batches after S, add to each bound what the others book in S: (M - 1) x (a balancer's workers x n + its
-- requests in S), at most (M - 1) x limit.
--
-- Pure: a lease is a table, the caller passes the time (microseconds) and does the asking.

local ceil, max, min = math.ceil, math.max, math.min

local M = {}

--- A lease that holds nothing yet.
function M.new(now)
  return { credits = 0, used = 0, at = 0, expires = 0, since = now, served = 0, rate = 0 }
end

--- Takes `cost` from the lease; false when it holds too little or has expired.
function M.take(lease, now, cost)
  lease.served = lease.served + cost
  if now >= lease.expires or lease.credits < cost then
    return false
  end
  lease.credits, lease.used = lease.credits - cost, lease.used + cost
  return true
end

--- Puts back what `take` took, when another limit rejected the request.
function M.put_back(lease, cost)
  lease.credits, lease.used, lease.served = lease.credits + cost, lease.used - cost, lease.served - cost
end

-- The client's rate over the last lease, smoothed by half, in units a microsecond.
local function measure(lease, now)
  local elapsed = max(1, now - lease.since)
  lease.rate = lease.rate == 0 and lease.served / elapsed or (lease.rate + lease.served / elapsed) / 2
  lease.since, lease.served = now, 0
end

--- The most that the next batch should hold, before the share of what remains is looked at.
function M.most(lease, now, config, cost)
  measure(lease, now)
  if config.size == "static" then
    return config.most
  end
  return max(cost, min(config.most, ceil(lease.rate * config.expires)))
end

-- Use in a fixed window that is over needs no report: it would be booked in the next window.
local function forget_past(lease, now, limit)
  if limit.algorithm == "fixed_window" and now >= (lease.window_end or 0) then
    lease.credits, lease.used = 0, 0
  end
end

--- What to ask of the store for a new batch: verb and amount.
function M.request(lease, now, limit, cost)
  forget_past(lease, now, limit)
  lease.wanted = M.most(lease, now, limit.lease, cost)
  if limit.lease.mode == "lazy" then
    return "report", lease.used
  end
  return "reserve", max(cost, lease.wanted)
end

-- The end of a lease: never past the window in which a fixed window's units were booked.
local function ending(limit, now, answer)
  local life = limit.lease.expires
  return now + (limit.algorithm == "fixed_window" and min(life, answer.reset) or life)
end

--- Fills the lease from the store's answer to `request`; returns what the batch holds.
function M.fill(lease, now, limit, answer, reported, time)
  if limit.lease.mode == "lazy" then
    lease.used = max(0, lease.used - reported)
    lease.credits = answer.allowed and min(lease.wanted, ceil(answer.remaining * limit.lease.share)) or 0
  else
    lease.credits, lease.used = lease.credits + answer.granted, 0
  end
  lease.at = time or now
  lease.expires, lease.window_end = ending(limit, now, answer), now + answer.reset
  return lease.credits
end

--- What to tell the store when the lease has expired or is idle: verb and amount; nil when there is nothing to tell.
-- Empties the lease.
function M.settle(lease, now, limit)
  forget_past(lease, now, limit)
  local credits, used = lease.credits, lease.used
  lease.credits, lease.used, lease.expires = 0, 0, 0
  if limit.lease.mode == "lazy" then
    return used > 0 and "report" or nil, used
  end
  return credits > 0 and "refund" or nil, credits
end

return M
