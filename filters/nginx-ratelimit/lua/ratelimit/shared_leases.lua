--- Leases that all workers of a balancer hold together: their numbers in shared memory, changed under a lock.
--
-- They stand in the dictionary of the memory store, under keys of their own. Who changes one holds its stripe of the locks and
-- does not yield meanwhile. A lease stays there for a while after it has expired, so that what it owes can still be reported.

local ffi = require("ffi")
local clock = require("ratelimit.clock")
local leases = require("ratelimit.leases")
local lock = require("ratelimit.stores.lock")
local shelf = require("ratelimit.stores.shelf")

local M = {}

local fields = {
  "credits",
  "used",
  "at",
  "expires",
  "since",
  "served",
  "rate",
  "wanted",
  "counted_until",
  "reset_at",
  "retry_at",
  "beyond",
  "denied_until",
  "denied_limit",
  "denied_burst",
  "doubted",
  "fetching_until",
  "talk",
}
local bytes = #fields * 8
local buffer = ffi.new("double[?]", #fields)
local kept_after = 60e6
local patience = 0.05

--- Why `change` changed nothing: others hold the lock. Otherwise the memory is full, so the key has no lease.
M.locked = "locked"

local state, locks

local function prepare()
  if not locks then
    state, locks = shelf.new(ngx.shared.ratelimit_state), lock.new(patience)
  end
end

local function load(key, limit, place)
  state:read(place, buffer, bytes) -- what a value lacks, as one that the filter before an upgrade wrote, is zero
  local lease = leases.new(clock.steady())
  for i, name in ipairs(fields) do
    lease[name] = buffer[i - 1]
  end
  if lease.since == 0 then
    lease.since = clock.steady()
  end
  lease.key, lease.limit, lease.is_shared = key, limit, true
  return lease
end

local function save(limit, lease, place)
  for i, name in ipairs(fields) do
    buffer[i - 1] = lease[name] or 0
  end
  return state:write(place, buffer, bytes, (limit.lease.expires + kept_after) / 1000)
end

local function changed(key, limit, place, act)
  local lease = load(key, limit, place)
  local result = act(lease)
  local ok, err = save(limit, lease, place)
  return ok and result or nil, err
end

--- Lets `act(lease)` change the lease of a key, which it must do without yielding.
-- @return what `act` returns; nil and a reason when nothing has changed: `locked`, or that the memory is full
function M.change(key, limit, act)
  prepare()
  local place = "lease " .. key
  local stripe = lock.stripe(place)
  if not locks:acquire_one(stripe) then
    return nil, M.locked
  end
  local done, result, err = pcall(changed, key, limit, place, act)
  locks:release_one(stripe)
  if not done then
    error(result, 0)
  end
  return result, err
end

return M
