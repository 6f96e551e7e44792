--- What a balancer knows that a client has used of a limit whose count is in a store that all balancers ask (Redis, MariaDB).
--
-- Each answer says how much is used, and when everything is free again: before that the store must remember something. Who asks
-- later and finds less has met a store that forgot (it came back empty, or failed over to a replica that lacked the last writes).
-- Then what is missing is taken once more. While a store is away, no more is admitted here than is free as far as is known, and
-- what is admitted here is taken from the store when it is back.
--
-- How much a store must remember at least is certain for a fixed window (what it had counted) and for buckets (what has not
-- drained yet). Of a sliding window it is one unit, as no one knows when each of the others was used; if nothing is left of them,
-- all are taken again, and may so count for a window longer than they should.
--
-- It stands in the dictionary of cached rejections, where it makes room when that is full: then it is not known any more.
-- What the store should remember is judged by the store's own clock alone: an answer that was on its way for longer says nothing
-- about a later one, and a window that ends a moment earlier there than here loses nothing.

local ffi = require("ffi")
local clock = require("ratelimit.clock")

local ceil, huge, max, min = math.ceil, math.huge, math.max, math.min

local M = {}

-- Units used by the store's answer of time `at`, and until when something of them counts: `ends` on the store's clock, `here` on
-- the steady one.
local entry = ffi.typeof("struct { double used, at, ends, here; }")
local as_entry = ffi.typeof("const $ *", entry)
local buckets = { token_bucket = true, leaky_bucket = true, gcra = true }
-- A dictionary keeps for ever what is kept for 0 seconds.
local shortest_life = 0.001

local function cache()
  return ngx.shared.ratelimit_cache
end

local function find(subject)
  local bytes = cache():get("known " .. subject.key)
  if not bytes then
    return nil
  end
  local found = ffi.cast(as_entry, bytes)
  return { used = found.used, at = found.at, ends = found.ends, here = found.here }
end

local function capacity(limit)
  return buckets[limit.algorithm] and limit.burst or limit.limit
end

-- What has not drained from a bucket yet: a part of a unit as a whole one, as the store's answers have it.
local function in_bucket(limit, known, left)
  return min(known.used, ceil(left * limit.limit / limit.window))
end

-- Units that are still used, as far as is known, when the last of them counts for that much longer.
local function used(limit, known, left)
  return buckets[limit.algorithm] and in_bucket(limit, known, left) or known.used
end

-- Units that the store must still remember, whatever the others did.
local function remembered(limit, known, left)
  if limit.algorithm == "fixed_window" or buckets[limit.algorithm] then
    return used(limit, known, left)
  end
  return min(known.used, 1)
end

-- How many units the store has forgotten, by an answer that found `before` used. A bucket's end is rounded up, by less than one
-- microsecond.
local function forgotten(limit, known, before, time)
  local left = known.ends - 1 - time
  if left < 0 or before >= remembered(limit, known, left) then
    return 0
  end
  return max(0, used(limit, known, left) - before)
end

local function keep(subject, known, now)
  local bytes = ffi.string(entry(known.used, known.at, known.ends, known.here), ffi.sizeof(entry))
  cache():set("known " .. subject.key, bytes, max(shortest_life, (known.here - now) / 1e6))
end

-- What was admitted here while the store was away. -------------------------------------------------------------------

-- How long that counts: until the window ends, or for a window.
local function life(limit)
  local left = limit.algorithm == "fixed_window" and limit.window - clock.now() % limit.window or limit.ttl
  return max(shortest_life, left / 1e6)
end

local function add_own(subject, units)
  return cache():incr("own " .. subject.key, units, 0, life(subject.limit)) or 0
end

-- Takes all of it away, so that no other worker does; 0 when one has.
local function take_own(subject)
  local units = cache():get("own " .. subject.key) or 0
  if units > 0 and add_own(subject, -units) < 0 then
    add_own(subject, units)
    return 0
  end
  return units
end

-- ---------------------------------------------------------------------------------------------------------------------

--- Whether a limit's count is kept where a loss of it would be noticed.
function M.covers(limit)
  return limit.is_central and not limit.lease
end

--- Learns from an answer of the store to a request that was `asked` for; returns how many units it lacks, 0 mostly.
-- Who takes them from the store calls `owe` when that fails.
-- @param time of the store's clock; an answer that has its own says more
function M.learn(subject, answer, time, asked)
  local limit, now = subject.limit, clock.steady()
  local known, total = find(subject), capacity(limit)
  time = answer.time or time
  if known and time <= known.at then
    return 0
  end
  local lacks = 0
  if answer.granted > 0 then
    lacks = take_own(subject) + (known and forgotten(limit, known, total - answer.remaining - answer.granted, time) or 0)
  end
  local is_used = total - answer.remaining > 0 and answer.reset > 0
  if is_used or known then
    local left = { used = total - answer.remaining, at = time, ends = time + answer.reset, here = asked + answer.reset }
    keep(subject, left, now)
  end
  return lacks
end

--- Notes units that the store lacks, to be taken from it with the next request.
function M.owe(subject, units)
  add_own(subject, units)
end

--- Takes the cost of a request that is decided here while the store is away; false when more is used than is free.
function M.take(subject)
  local limit, now = subject.limit, clock.steady()
  local known, own = find(subject), add_own(subject, subject.cost)
  local counts = known and now < known.here
  local left = counts and capacity(limit) - used(limit, known, known.here - now) or huge
  if own > left then
    add_own(subject, -subject.cost)
    return false
  end
  return true
end

--- Undoes `take`, when the balancer's own part of the limit was used up.
function M.put_back(subject)
  add_own(subject, -subject.cost)
end

return M
