local cores = require("ratelimit.core")
local support = require("support")

local rounds = 40

local function each_round(body)
  for seed = 1, rounds do
    local random = support.random(seed * 7919)
    body(support.rule(random), random, "seed " .. seed)
  end
end

local function copy(state)
  local out = {}
  for i, v in ipairs(state) do
    out[i] = v
  end
  return out
end

-- The most units admitted in any stretch of `length`, quadratic on purpose.
local function peak(admitted, length)
  local most = 0
  for i = 1, #admitted do
    local sum = 0
    for j = i, #admitted do
      if admitted[j][1] - admitted[i][1] >= length then
        break
      end
      sum = sum + admitted[j][2]
    end
    most = math.max(most, sum)
  end
  return most
end

describe("whatever arrives", function()
  it("the sliding window log never admits more than the limit in any window", function()
    each_round(function(rule, random, seed)
      local admitted = support.admitted(cores.sliding_window_log, rule, support.arrivals(random, 120, 3))
      assert.is_true(peak(admitted, rule.window) <= rule.limit, seed)
    end)
  end)

  it("the fixed window never admits more than the limit between two multiples of the window", function()
    each_round(function(rule, random, seed)
      local sums = {}
      for _, each in ipairs(support.admitted(cores.fixed_window, rule, support.arrivals(random, 120, 3))) do
        local window = math.floor(each[1] / rule.window)
        sums[window] = (sums[window] or 0) + each[2]
        assert.is_true(sums[window] <= rule.limit, seed)
      end
    end)
  end)

  it("the sliding window counter never admits more than twice the limit in any window", function()
    each_round(function(rule, random, seed)
      local admitted = support.admitted(cores.sliding_window_counter, rule, support.arrivals(random, 120, 3))
      assert.is_true(peak(admitted, rule.window) <= 2 * rule.limit, seed)
    end)
  end)

  for _, name in ipairs({ "token_bucket", "leaky_bucket", "gcra" }) do
    it(name .. " never admits more than burst + rate x time in any stretch of time", function()
      each_round(function(rule, random, seed)
        local admitted = support.admitted(cores[name], rule, support.arrivals(random, 120, 3))
        for i = 1, #admitted do
          local sum = 0
          for j = i, #admitted do
            sum = sum + admitted[j][2]
            local elapsed = admitted[j][1] - admitted[i][1]
            assert.is_true(sum * rule.window <= rule.burst * rule.window + elapsed * rule.limit, seed)
          end
        end
      end)
    end)
  end

  it("the token bucket, the leaky bucket and GCRA admit the same requests", function()
    each_round(function(rule, random, seed)
      local arrivals = support.arrivals(random, 150, 3)
      local tokens = support.admitted(cores.token_bucket, rule, arrivals)
      for _, name in ipairs({ "leaky_bucket", "gcra" }) do
        local other = support.admitted(cores[name], rule, arrivals)
        assert.equal(#tokens, #other, seed)
        for i = 1, #tokens do
          assert.equal(tokens[i][1], other[i][1], seed)
        end
      end
    end)
  end)

  it("requests leave the leaky bucket no closer than window/limit per unit of the one before", function()
    each_round(function(rule, random, seed)
      local admitted = support.admitted(cores.leaky_bucket, rule, support.arrivals(random, 150, 3))
      for i = 2, #admitted do
        local gap = (admitted[i][1] + admitted[i][3]) - (admitted[i - 1][1] + admitted[i - 1][3])
        assert.is_true(gap >= math.floor(admitted[i - 1][2] * rule.window / rule.limit), seed)
      end
    end)
  end)
end)

describe("every algorithm", function()
  local function at_each_arrival(name, body)
    each_round(function(rule, random, seed)
      local core = cores[name]
      local state = support.fresh(core, rule)
      for _, arrival in ipairs(support.arrivals(random, 60, 3)) do
        body(core, state, arrival, rule, random, name .. ", " .. seed)
        core.decide(state, arrival[1], rule, arrival[2])
      end
    end)
  end

  for _, name in ipairs(cores.names) do
    it(name .. " admits every smaller cost when it admits a cost", function()
      at_each_arrival(name, function(core, state, arrival, rule, _, where)
        local before = true
        for cost = 1, 12 do
          local allowed = core.decide(copy(state), arrival[1], rule, cost)
          assert.is_true(before or not allowed, where)
          before = allowed
        end
      end)
    end)

    it(name .. " takes exactly what it says remains, and not one unit more", function()
      at_each_arrival(name, function(core, state, arrival, rule, _, where)
        local _, remaining = core.decide(copy(state), arrival[1], rule, 0)
        assert.is_false((core.decide(copy(state), arrival[1], rule, remaining + 1)), where)
        assert.is_true((core.decide(copy(state), arrival[1], rule, remaining)), where)
      end)
    end)

    it(name .. " admits after exactly retry_after and not a microsecond before", function()
      at_each_arrival(name, function(core, state, arrival, rule, random, where)
        local cost = 1 + random(5)
        local allowed, _, _, wait = core.decide(copy(state), arrival[1], rule, cost)
        if not allowed and wait >= 0 then
          assert.is_true((core.decide(copy(state), arrival[1] + wait, rule, cost)), where)
          assert.is_false((core.decide(copy(state), arrival[1] + wait - 1, rule, cost)), where)
        end
      end)
    end)

    it(name .. " is as good as new after its time to live", function()
      at_each_arrival(name, function(core, state, arrival, rule, _, where)
        local old = copy(state)
        core.decide(old, arrival[1], rule, 1)
        local later = arrival[1] + core.ttl(rule)
        local _, aged = core.decide(old, later, rule, 0)
        local _, new = core.decide(support.fresh(core, rule), later, rule, 0)
        assert.equal(new, aged, where)
      end)
    end)

    it(name .. " takes nothing for a rejected request or for a cost of zero", function()
      at_each_arrival(name, function(core, state, arrival, rule, _, where)
        local touched = copy(state)
        core.decide(touched, arrival[1], rule, 1e9)
        core.decide(touched, arrival[1], rule, 0)
        local plain = { core.decide(copy(state), arrival[1], rule, 1) }
        assert.are.same(plain, { core.decide(touched, arrival[1], rule, 1) }, where)
      end)
    end)

    it(name .. " gives no second quota when the clock steps back by 5 s, and recovers", function()
      local rule = { limit = 10, window = 60e6, burst = 10, sub_windows = 4 }
      local state, core = support.fresh(cores[name], rule), cores[name]
      local now = support.base + 61e6
      for _ = 1, 10 do
        assert.is_true((core.decide(state, now, rule, 1)))
      end
      assert.is_false((core.decide(state, now - 5e6, rule, 1)))
      assert.is_true((core.decide(state, now - 5e6 + 2 * 60e6 + 20e6, rule, 1)))
    end)
  end
end)

describe("a clock that is set back by much more than a window", function()
  local rule = { limit = 10, window = 10e6, burst = 10, sub_windows = 4 }

  for _, name in ipairs(cores.names) do
    it("locks nobody out with " .. name .. ": the client begins anew", function()
      for used = 1, 10 do
        local state, core = support.fresh(cores[name], rule), cores[name]
        for _ = 1, used do
          assert.is_true((core.decide(state, support.base, rule, 1)))
        end
        for _ = 1, 10 do
          assert.is_true((core.decide(state, support.base - 3600e6, rule, 1)), "after " .. used)
        end
        assert.is_false((core.decide(state, support.base - 3600e6, rule, 1)))
      end
    end)

    it("locks nobody out for more than two lives of its state with " .. name .. ", however far it is set back", function()
      for _, step in ipairs({ 1e6, 5e6, 9e6, 10e6, 11e6, 15e6, 19e6, 20e6, 21e6, 30e6, 60e6 }) do
        local state, core = support.fresh(cores[name], rule), cores[name]
        for _ = 1, 10 do
          core.decide(state, support.base, rule, 1)
        end
        local waited = -1e6
        repeat
          waited = waited + 1e6
        until core.decide(state, support.base - step + waited, rule, 1)
        assert.is_true(waited <= 2 * core.ttl(rule), ("a step of %d s costs %d s"):format(step / 1e6, waited / 1e6))
      end
    end)
  end
end)

describe("settling", function()
  for _, name in ipairs({ "fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket" }) do
    it(name .. " gives back what was taken, as if it had never been", function()
      each_round(function(rule, random, seed)
        local core, arrivals = cores[name], support.arrivals(random, 40, 3)
        local state = support.fresh(core, rule)
        for _, arrival in ipairs(arrivals) do
          local at = arrival[1]
          local _, before = core.decide(copy(state), at, rule, 0)
          if core.decide(state, at, rule, arrival[2]) then
            core.settle(state, at, rule, -arrival[2], at)
            local _, after = core.decide(copy(state), at, rule, 0)
            assert.equal(before, after, seed)
          end
          core.decide(state, at, rule, 1)
        end
      end)
    end)

    it(name .. " books past the limit what was used already, and then rejects", function()
      each_round(function(rule, _, seed)
        local core = cores[name]
        local state, now = support.fresh(core, rule), support.base
        for i = 1, 5 do
          core.settle(state, now + i, rule, rule.limit + rule.burst, now + i)
        end
        assert.is_false((core.decide(state, now + 6, rule, 1)), seed)
      end)
    end)
  end

  it("the sliding window counter gives back to the oldest sub-window that still weighs", function()
    local core, rule = cores.sliding_window_counter, { limit = 10, window = 10e6, sub_windows = 5 }
    local state, sub = support.fresh(core, rule), rule.window / rule.sub_windows
    core.decide(state, support.base, rule, 8)
    local now = support.base + rule.sub_windows * sub + sub / 4 -- three quarters of the 8 still weigh
    assert.equal(4, select(2, core.decide(copy(state), now, rule, 0)))
    core.settle(state, now, rule, -8, support.base)
    assert.equal(10, select(2, core.decide(state, now, rule, 0)))
  end)

  it("the sliding window log keeps working when reports fill its ring", function()
    local core, rule = cores.sliding_window_log, { limit = 3, window = 10e6 }
    local state = support.fresh(core, rule)
    for i = 1, 20 do
      core.settle(state, support.base + i, rule, 1, support.base + i)
    end
    assert.equal(20, state[3])
    assert.is_false((core.decide(state, support.base + 9e6, rule, 1)))
    assert.is_true((core.decide(state, support.base + 11e6, rule, 3)))
  end)
end)
