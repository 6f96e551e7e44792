--- Collects requests into bundles: those of one caller that come within a time of the first, for a bounded number of things.
--
-- Pure: the time is an argument, in seconds. A bundle is open from its first request, which leads it, until it asks for as many
-- different things as it may, its time is over, or its leader closes it. Who comes later begins the next one, also where the
-- leader has vanished: no one joins a bundle after its time. A thing that two requests ask for is asked for once.
-- Example: size 3, wait 5 ms. a at 0 ms, b at 2 ms, b at 3 ms, c at 4 ms: one bundle of a, b, c for four requests, sent at 4
-- ms.

local M = {}
M.__index = M

--- A collector of at most `most_waiting` requests at a time, whose bundles have ids of at most `longest` bytes together.
function M.new(most_waiting, longest)
  return setmetatable({ most_waiting = most_waiting, longest = longest, waiting = 0, open = {} }, M)
end

local function begun(key, rule, now)
  return {
    key = key,
    rule = rule,
    since = now,
    till = now + rule.wait,
    ids = {},
    asked = {},
    requests = 0,
    bytes = 0,
    spared = 0,
  }
end

local function has_room(bundle, id, longest)
  return bundle.asked[id] or bundle.bytes + #id + 1 <= longest
end

local function add(bundle, id, now)
  bundle.requests = bundle.requests + 1
  -- What the first request had waited before this one came.
  bundle.spared = bundle.spared + (now - bundle.since)
  if not bundle.asked[id] then
    bundle.asked[id] = true
    bundle.ids[#bundle.ids + 1] = id
    bundle.bytes = bundle.bytes + #id + 1
  end
end

-- The bundle that a request joins, or nil where it begins one; and one that is closed since the request has no room in it.
local function joined(self, key, id, now)
  local bundle = self.open[key]
  if not bundle or now >= bundle.till then
    return nil
  end
  if has_room(bundle, id, self.longest) then
    return bundle
  end
  return nil, bundle
end

--- Takes a request in. The first of a bundle leads it (`bundle.requests == 1`).
-- @param key who asks, for what: requests of different keys are never in one bundle
-- @param rule `size`, the most different things in a bundle, at least 2; `wait`, in seconds
-- @return its bundle, or nil when as many wait as may; and the bundle that is to be sent now, where there is one
function M:join(key, id, rule, now)
  if self.waiting >= self.most_waiting then
    return nil
  end
  local bundle, complete = joined(self, key, id, now)
  if not bundle then
    bundle = begun(key, rule, now)
    self.open[key] = bundle
  end
  add(bundle, id, now)
  self.waiting = self.waiting + 1
  if M.is_full(bundle) then
    complete = bundle
    self:close(bundle)
  end
  return bundle, complete
end

--- Closes a bundle: no one joins it any more.
function M:close(bundle)
  if self.open[bundle.key] == bundle then
    self.open[bundle.key] = nil
  end
end

--- How long the requests of a bundle have waited so far, all together, in seconds.
function M.waited(bundle, now)
  return math.max(0, bundle.requests * (now - bundle.since) - bundle.spared)
end

--- Whether a bundle asks for as many different things as it may.
function M.is_full(bundle)
  return #bundle.ids >= bundle.rule.size
end

--- Gives a request's place back, once it has its answer or continues by itself.
function M:leave()
  self.waiting = self.waiting - 1
end

return M
