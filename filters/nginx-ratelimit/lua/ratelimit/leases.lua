--- Leases: a balancer takes a batch of quota from the store and decides from it without asking.
--
-- `eager` reserves the batch in the store before use and gives back what is left when the lease expires.
-- `lazy` reads what remains, uses a share of it, and reports the use when the batch is empty or the lease expires.
-- The size is `share` of what remains (static), at most `most`; dynamic also looks at the client's recent rate.
--
-- Bounds, with N holders (balancers x workers; balancers, where their workers share it), largest batch n, window W, over one
-- store that answers however late:
--   eager, fixed window:     at most limit in every window; at most (N - 1) * n stranded (rejected too early) until T ends.
--   eager, sliding windows:  at most limit + N * n in any stretch of W, as a unit may be used long after it was booked.
--   eager, token bucket:     at most burst + rate * time + N * n in any stretch of time, for the same reason.
--   lazy, fixed window:      at most limit + (N - 1) * n in every window: what the others hold unreported is not seen.
--   lazy, sliding windows:   at most limit + (N - 1) * n in any stretch of W (reports come late, so they also leave late).
--   lazy, token bucket:      at most burst + rate * time + (N - 1) * n in any stretch of time.
-- T is `expires`. Where requests cost more than a unit, n is a batch and a rest of an eager one that was too small for a request.
-- A sliding window counter is an estimate: its own excess (below limit) comes on top of its bounds.
--
-- Why the lazy bounds hold: when the store says what remains, the holder that asks has nothing that the store does not know. It
-- has reported all that it used with the same call, holds no credit, and admits nothing before the answer is there: `request`
-- gives up what is left, requests wait for the answer and never ask past it, and an answer after which another worker has asked
-- is not used. So the store does not see the other N - 1 alone, and each of them has used or still holds at most n.
-- Whoever asks the store past a lease (a worker that ends, or has too many keys) counts as one more holder of one unit, and so
-- does a worker that is killed with a report that no one else knows of, with n.
-- A fixed window's units are used in that window only: a lease ends as long after it was asked for as the store said the window
-- would last, which is never after the window's end, however late the answer came.
--
-- A store that shows reports after a staleness S adds, for each lazy bound, what the other holders use in S. M sidecars (crdt),
-- which see each other's batches after S, add to each bound what the others book in S: (M - 1) x (a balancer's workers x n +
-- its requests in S), at most (M - 1) x limit.
--
-- Pure: a lease is a table, the caller passes the time (microseconds) and does the asking.

local ceil, huge, max, min = math.ceil, math.huge, math.max, math.min

local M = {}

--- A rejection by the store is believed for at most this long: quota that comes back, or a raised limit, is noticed then.
M.believed = 1e6

--- A lease that holds nothing yet.
function M.new(now)
  return {
    credits = 0,
    used = 0,
    at = 0,
    expires = 0,
    since = now,
    served = 0,
    rate = 0,
    denied_until = 0,
    doubted = 0,
    talk = 0,
  }
end

--- Begins to talk to the store; returns the number of the talk. What an earlier talk has to say is out of date from now on.
function M.begin_talk(lease)
  lease.talk = lease.talk + 1
  return lease.talk
end

--- Notes that the store has not answered, so that no one knows what it has booked. A store that stalls books all that it was
-- asked when it continues: until it answers a look, which takes nothing, the lease neither asks for a batch nor reports again.
function M.doubt(lease)
  lease.doubted = 1
end

--- Whether the store has to answer a look first.
function M.is_doubted(lease)
  return lease.doubted == 1
end

--- Whether a lease rejects its client without asking the store again: for a while, and under the same limit only.
function M.denies(lease, now, limit)
  local is_same = lease.denied_limit == limit.limit and lease.denied_burst == (limit.burst or 0)
  return is_same and now < lease.denied_until and lease.credits < 1
end

local function believe(lease, now, limit, answer)
  local wait = min(answer.retry_after or 0, limit.lease.expires, M.believed)
  lease.denied_until = answer.allowed and 0 or now + wait
  lease.denied_limit, lease.denied_burst = limit.limit, limit.burst or 0
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

--- Puts back what was taken while `talk` was the last one, when another limit rejected the request. If the lease has talked to
-- the store since, the units are booked, maybe in a window that is over: they stay where they are.
function M.put_back(lease, cost, talk)
  lease.served = lease.served - cost
  if lease.talk == talk then
    lease.credits, lease.used = lease.credits + cost, lease.used - cost
  end
end

-- The client's rate over the last lease, smoothed by half, in units a microsecond. Its first request says nothing of it.
local function measure(lease, now)
  if lease.at > 0 then
    local rate = lease.served / max(1, now - lease.since)
    lease.rate = lease.rate == 0 and rate or (lease.rate + rate) / 2
  end
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

-- What nothing counts any more needs no report and can't be given back: the end of its window, or a window since, is over.
local function forget_past(lease, now)
  if now >= (lease.counted_until or 0) then
    lease.credits, lease.used = 0, 0
  end
end

--- What to ask of the store for a new batch: verb and amount. A lazy lease gives up what is left, of which nothing is booked.
function M.request(lease, now, limit, cost)
  forget_past(lease, now)
  lease.wanted = M.most(lease, now, limit.lease, cost)
  if limit.lease.mode == "lazy" then
    lease.credits = 0
    return "report", max(0, lease.used)
  end
  return "reserve", max(cost, lease.wanted)
end

-- The end of a lease. What a fixed window has booked is used before that ends: `reset` after it was asked for is never later.
local function ending(limit, now, asked, answer)
  local expires = now + limit.lease.expires
  return limit.algorithm == "fixed_window" and min(expires, asked + answer.reset) or expires
end

-- When what is taken from the lease until it expires has surely left the client's count.
local function counted_until(limit, now, answer, expires)
  return limit.algorithm == "fixed_window" and now + answer.reset or expires + (limit.ttl or huge)
end

-- What an eager lease still holds of its last batch; nothing of a window that may have ended while the store was asked.
local function rest(lease, now, limit)
  return (limit.algorithm ~= "fixed_window" or now < lease.expires) and lease.credits or 0
end

--- Fills the lease from the store's answer to `request`, which was `asked` for earlier; returns what the batch holds.
-- @param time of the store's clock, when it booked the batch
-- @param asked when the store was asked (default: now)
function M.fill(lease, now, limit, answer, reported, time, asked)
  if limit.lease.mode == "lazy" then
    lease.used = max(0, lease.used - reported)
    lease.credits = answer.allowed and min(lease.wanted, ceil(answer.remaining * limit.lease.share)) or 0
  else
    lease.credits, lease.used = rest(lease, now, limit) + answer.granted, 0
  end
  lease.at, lease.expires = time or now, ending(limit, now, asked or now, answer)
  lease.counted_until = counted_until(limit, now, answer, lease.expires)
  lease.doubted = 0
  believe(lease, now, limit, answer)
  return lease.credits
end

--- Gives up a batch that is too small for a request, before the store is asked for that alone.
-- Of a lazy lease nothing is booked yet: what the store grants now, it would grant a second time.
function M.give_up(lease, limit)
  if limit.lease.mode == "lazy" then
    lease.credits = 0
  end
end

--- What to tell the store when the lease has expired or is idle: verb and amount; nil when there is nothing to tell.
-- The lease holds nothing afterwards. What it has to report stays with it until the store has answered (`told`).
function M.settle(lease, now, limit)
  forget_past(lease, now)
  local credits = lease.credits
  lease.credits, lease.expires = 0, 0
  if limit.lease.mode == "lazy" then
    return lease.used > 0 and "report" or nil, lease.used
  end
  lease.used = 0
  return credits > 0 and "refund" or nil, credits
end

--- Notes that the store has answered what `settle` had to tell.
-- A report that it has not answered is repeated, as long as it counts. If it was booked all the same, it is booked twice, which
-- rejects too much. A refund booked twice would admit too much: it is not repeated.
function M.told(lease, verb, amount)
  if verb == "report" then
    lease.used = max(0, lease.used - amount)
  end
  lease.doubted = 0
end

return M
