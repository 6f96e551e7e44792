--- What the specs share: seeded arrivals and fresh states.

local M = {}

M.second = 1e6
M.base = 1700000000 * 1e6

--- Its own small generator, so that a seed means the same arrivals on every machine.
function M.random(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n
  end
end

function M.fresh(core, rule)
  local state = {}
  for i = 1, core.size(rule) do
    state[i] = 0
  end
  return state
end

function M.rule(random)
  return {
    limit = 1 + random(40),
    window = (1 + random(20)) * 500000 + random(3),
    burst = 1 + random(30),
    sub_windows = 1 + random(7),
  }
end

local gaps = { 0, 0, 1, 7, 1000, 40000, 300000, 2000000, 15000000 }

--- A list of { time, cost }.
function M.arrivals(random, count, max_cost)
  local now, list = M.base + random(1000000), {}
  for i = 1, count do
    now = now + gaps[1 + random(#gaps)]
    list[i] = { now, 1 + random(max_cost) }
  end
  return list
end

--- Runs a core over arrivals; returns the admitted { time, cost, delay }.
function M.admitted(core, rule, arrivals)
  local state, out = M.fresh(core, rule), {}
  for _, arrival in ipairs(arrivals) do
    local allowed, _, _, _, delay = core.decide(state, arrival[1], rule, arrival[2])
    if allowed then
      out[#out + 1] = { arrival[1], arrival[2], delay }
    end
  end
  return out
end

return M
