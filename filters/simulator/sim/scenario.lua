--- Runs one scenario: its clients one after another, as they share no state, each through its requests in order of time.
--
-- The requests are made (`clients`: groups with a rate and a shape) or were recorded (`recorded`: a file).

local arrivals = require("sim.arrivals")
local judge = require("sim.judge")
local random = require("sim.random")
local recorded = require("sim.recorded")
local routing = require("sim.routing")

local M = {}

--- Simulated time begins here (microseconds since the Unix epoch), so that windows are aligned as they are in life.
M.start = 1700000000000000

local stores = { central = require("sim.stores.central"), crdt = require("sim.stores.crdt") }
local synchronisations = {
  request = require("sim.synchronisation.request"),
  lazy = require("sim.synchronisation.lease"),
  eager = require("sim.synchronisation.lease"),
  share = require("sim.synchronisation.share"),
  none = require("sim.synchronisation.none"),
}

local function rule_of(scenario)
  return {
    algorithm = scenario.algorithm,
    limit = scenario.limit,
    window = scenario.window_us,
    burst = scenario.burst,
    sub_windows = scenario.sub_windows,
    lease = scenario.lease and {
      mode = scenario.synchronisation,
      size = scenario.lease.size,
      share = scenario.lease.share,
      most = scenario.lease.most,
      expires = scenario.lease.expires_us,
      holder = scenario.lease.holder or "worker",
    },
  }
end

local function limiter_of(scenario, number)
  local rule = rule_of(scenario)
  local stream = random.new(scenario.seed, 3 * number + 2)
  local store = stores[scenario.store].new(rule, scenario, stream)
  return synchronisations[scenario.synchronisation].new(store, rule, scenario, stream)
end

local function router(scenario, number)
  return routing[scenario.routing](random.new(scenario.seed, 3 * number + 1), scenario.balancers)
end

-- The requests of one client of a group: each call gives time, cost and who decides; nothing at the end.
local function made(scenario, group, number)
  local next_time = arrivals[group.arrivals](random.new(scenario.seed, 3 * number), 60e6 / group.per_minute)
  local next_balancer, cost = router(scenario, number), group.cost
  return function()
    local time = next_time()
    if time < scenario.duration_us then
      return M.start + time, cost, next_balancer()
    end
  end
end

local function replayed(scenario, client, number)
  local next_balancer, times, costs, holders, at = router(scenario, number), client.times, client.costs, client.holders, 0
  return function()
    at = at + 1
    if times[at] then
      return times[at], costs[at], holders[at] > 0 and holders[at] or next_balancer()
    end
  end
end

local function each_made(scenario, act)
  local number = 0
  for _, group in ipairs(scenario.clients) do
    for _ = 1, group.clients do
      number = number + 1
      act(made(scenario, group, number), number)
    end
  end
end

local function each_client(scenario, act)
  if not scenario.recorded then
    return each_made(scenario, act)
  end
  for number, client in ipairs(recorded.clients(scenario.recorded)) do
    act(replayed(scenario, client, number), number)
  end
end

--- Runs a scenario; returns the judge's summary and the share of requests (percent) that waited for the store.
-- @param write (optional) hears of every decision: client number, time, cost, allowed
function M.run(scenario, write)
  local verdict = judge.new(scenario.limit, scenario.window_us, scenario.tolerance_us)
  local asked = 0
  each_client(scenario, function(requests, number)
    local log, limiter = verdict:client(), limiter_of(scenario, number)
    for now, cost, balancer in requests do
      local allowed = limiter:decide(now, balancer, cost)
      judge.add(log, now, cost, allowed)
      if write then
        write(number, now, cost, allowed)
      end
    end
    verdict:done(log)
    asked = asked + limiter.asked
  end)
  local summary = verdict:summary()
  summary.asked_store = summary.requests == 0 and 0 or 100 * asked / summary.requests
  return summary
end

local function with(scenario, changes)
  return setmetatable(changes, { __index = scenario })
end

--- The ends of the judge's scale on the same arrivals: no limiter, and an exact log asked for every request.
function M.scale(scenario)
  local exact = { algorithm = "sliding_window_log", store = "central", synchronisation = "request", balancers = 1 }
  return {
    ["no limiter"] = M.run(with(scenario, { synchronisation = "none", store = "central" })),
    ["exact log"] = M.run(with(scenario, exact)),
  }
end

return M
