local cores = require("ratelimit.core")
local leases = require("ratelimit.leases")
local support = require("support")
local verbs = require("ratelimit.core.verbs")

-- A store and `holders` lease holders in simulated time; requests fall on random holders.
local function world(algorithm, rule, lease, holders)
  local limit = setmetatable({ algorithm = algorithm, lease = lease }, { __index = rule })
  local core = cores[algorithm]
  local self = { state = support.fresh(core, rule), held = {}, asked = 0, served = 0 }

  local function ask(now, verb, amount, at)
    self.asked = self.asked + 1
    local allowed, remaining, reset, retry, _, granted = verbs[verb](core, self.state, now, rule, amount, lease.share, at)
    return { allowed = allowed, remaining = remaining, reset = reset, retry_after = retry, granted = granted }
  end

  local function settle(held, now)
    local verb, amount = leases.settle(held, now, limit)
    if verb then
      ask(now, verb, amount, held.at)
      leases.told(held, verb, amount)
    end
  end

  local function sweep(now)
    for _, held in pairs(self.held) do
      if now >= held.expires then
        settle(held, now)
      end
    end
  end

  function self.request(now, holder)
    sweep(now)
    self.served = self.served + 1
    local held = self.held[holder] or leases.new(now)
    self.held[holder] = held
    if leases.take(held, now, 1) then
      return true
    end
    local verb, amount = leases.request(held, now, limit, 1)
    leases.fill(held, now, limit, ask(now, verb, amount), amount, now)
    return leases.take(held, now, 1)
  end

  function self.run(random, count, gap)
    local now, admitted = support.base, {}
    for _ = 1, count do
      now = now + random(gap)
      if self.request(now, random(holders)) then
        admitted[#admitted + 1] = now
      end
    end
    return admitted
  end

  return self
end

local function peak(times, length)
  local most, first = 0, 1
  for last = 1, #times do
    while times[last] - times[first] >= length do
      first = first + 1
    end
    most = math.max(most, last - first + 1)
  end
  return most
end

local function per_window(times, window)
  local most, counts = 0, {}
  for _, time in ipairs(times) do
    local index = math.floor(time / window)
    counts[index] = (counts[index] or 0) + 1
    most = math.max(most, counts[index])
  end
  return most
end

local rule = { limit = 60, window = 10e6, burst = 40, sub_windows = 5 }

local function each_case(mode, body)
  for seed = 1, 8 do
    for _, holders in ipairs({ 1, 2, 4, 16 }) do
      for _, most in ipairs({ 1, 5, 30 }) do
        local lease = { mode = mode, share = 0.5, most = most, size = "static", expires = 1e6 }
        body(lease, holders, most, support.random(seed * 7919), ("seed %d, N %d, n %d"):format(seed, holders, most))
      end
    end
  end
end

describe("an eager lease", function()
  it("never admits more than the limit in a fixed window", function()
    each_case("eager", function(lease, holders, _, random, where)
      local admitted = world("fixed_window", rule, lease, holders).run(random, 800, 60000)
      assert.is_true(per_window(admitted, rule.window) <= rule.limit, where)
    end)
  end)

  it("never spends in a fixed window what was booked in the one before", function()
    local lease = { mode = "eager", share = 1, most = 30, size = "static", expires = 1e6 }
    for _, holders in ipairs({ 1, 2, 4 }) do
      local tested, edge = world("fixed_window", rule, lease, holders), support.base + rule.window
      assert.equal(0, edge % rule.window)
      local admitted = {}
      for _, now in ipairs({ edge - 1000, edge, edge + 1 }) do
        for i = 1, 2 * rule.limit do
          if now >= edge or i <= holders then -- before the edge each holder takes a batch, and one unit of it
            admitted[#admitted + 1] = tested.request(now, i % holders) and now or nil
          end
        end
      end
      assert.equal(rule.limit, per_window(admitted, rule.window), holders .. " holders")
    end
  end)

  for _, name in ipairs({ "sliding_window_log", "sliding_window_counter" }) do
    it("admits at most limit + N n in any window with " .. name, function()
      each_case("eager", function(lease, holders, most, random, where)
        local slack = name == "sliding_window_counter" and rule.limit or 0
        local admitted = world(name, rule, lease, holders).run(random, 800, 60000)
        assert.is_true(peak(admitted, rule.window) <= rule.limit + slack + holders * most, where)
      end)
    end)
  end

  it("admits at most burst + rate x time + N n with a token bucket", function()
    each_case("eager", function(lease, holders, most, random, where)
      local admitted = world("token_bucket", rule, lease, holders).run(random, 400, 60000)
      for i = 1, #admitted do
        local elapsed = admitted[i] - admitted[1]
        assert.is_true(i <= rule.burst + elapsed * rule.limit / rule.window + holders * most, where)
      end
    end)
  end)

  it("leaves at most (N - 1) n of the limit unused while its time lasts", function()
    each_case("eager", function(lease, holders, most, random, where)
      lease.expires = 10e6
      local admitted = world("fixed_window", rule, lease, holders).run(random, 2000, 5)
      assert.is_true(#admitted >= rule.limit - (holders - 1) * most, where)
    end)
  end)

  it("gives back what it did not use", function()
    local lease = { mode = "eager", share = 0.5, most = 30, size = "static", expires = 1e6 }
    for _, name in ipairs({ "fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket" }) do
      local one = world(name, rule, lease, 1)
      one.request(support.base, 0)
      one.request(support.base + 1.5e6, 0)
      local _, remaining = cores[name].decide(one.state, support.base + 1.5e6, rule, 0)
      local capacity = name == "token_bucket" and rule.burst or rule.limit
      local batch = math.ceil((capacity - 1) * lease.share)
      assert.is_true(remaining >= capacity - 2 - batch, name)
    end
  end)
end)

describe("a lazy lease", function()
  it("admits at most limit + (N - 1) n in a fixed window", function()
    each_case("lazy", function(lease, holders, most, random, where)
      local admitted = world("fixed_window", rule, lease, holders).run(random, 800, 60000)
      assert.is_true(per_window(admitted, rule.window) <= rule.limit + (holders - 1) * most, where)
    end)
  end)

  it("admits at most limit + (N - 1) n in any window with a sliding log", function()
    each_case("lazy", function(lease, holders, most, random, where)
      local admitted = world("sliding_window_log", rule, lease, holders).run(random, 800, 60000)
      assert.is_true(peak(admitted, rule.window) <= rule.limit + (holders - 1) * most, where)
    end)
  end)

  it("admits at most burst + rate x time + (N - 1) n with a token bucket", function()
    each_case("lazy", function(lease, holders, most, random, where)
      local admitted = world("token_bucket", rule, lease, holders).run(random, 400, 60000)
      for i = 1, #admitted do
        local elapsed = admitted[i] - admitted[1]
        assert.is_true(i <= rule.burst + elapsed * rule.limit / rule.window + (holders - 1) * most, where)
      end
    end)
  end)

  it("exceeds the limit when several hold the same rest, so that its bound isn't idle talk", function()
    local lease = { mode = "lazy", share = 0.5, most = 30, size = "static", expires = 10e6 }
    local admitted = world("fixed_window", rule, lease, 4).run(support.random(7), 2000, 5)
    assert.is_true(#admitted > rule.limit)
  end)
end)

-- A lease that has had a batch.
local function filled(lease, now)
  lease.at, lease.since = support.base + now, now
  return lease
end

describe("any lease", function()
  it("keeps more than nine requests of ten away from the store at a share of a half", function()
    for _, mode in ipairs({ "lazy", "eager" }) do
      local wide = { limit = 1000, window = 10e6, burst = 1000, sub_windows = 5 }
      local lease = { mode = mode, share = 0.5, most = 1e6, size = "static", expires = 1e6 }
      local one = world("fixed_window", wide, lease, 2)
      local admitted = one.run(support.random(3), 900, 2000)
      assert.equal(900, #admitted)
      assert.is_true(one.asked <= 90, one.asked .. " of " .. one.served)
    end
  end)

  it("of dynamic size follows the client's recent rate", function()
    local config = { mode = "eager", share = 1, most = 1e6, size = "dynamic", expires = 1e6 }
    local lease = filled(leases.new(0), 0)
    for i = 1, 100 do
      leases.take(lease, i * 1e4, 1)
    end
    assert.equal(100, leases.most(lease, 1e6, config, 1))
    assert.equal(50, leases.most(lease, 2e6, config, 1))
  end)

  it("of dynamic size holds the last part of a unit that the client's rate needs, and no more than the most", function()
    local config = { mode = "eager", share = 1, most = 5, size = "dynamic", expires = 1e6 }
    for served, most in pairs({ [1] = 1, [4] = 2, [5] = 2, [6] = 2, [7] = 3, [13] = 5, [100] = 5 }) do
      local lease = filled(leases.new(0), 0)
      for i = 1, served do
        leases.take(lease, i, 1)
      end
      assert.equal(most, leases.most(lease, 3e6, config, 1), served .. " in 3 s")
    end
  end)

  it("of dynamic size begins with what the first request costs, as nothing is known of the client's rate", function()
    local config = { mode = "eager", share = 1, most = 1e6, size = "dynamic", expires = 1e6 }
    local lease = leases.new(5e6)
    assert.is_false(leases.take(lease, 5e6 + 3, 2))
    assert.equal(2, leases.most(lease, 5e6 + 3, config, 2))
  end)

  it("puts back what another limit rejected", function()
    local lease = leases.new(0)
    lease.credits, lease.expires = 2, 10
    assert.is_true(leases.take(lease, 1, 2))
    leases.put_back(lease, 2, lease.talk)
    assert.equal(0, lease.used)
    assert.is_true(leases.take(lease, 1, 2))
    assert.is_false(leases.take(lease, 1, 1))
  end)

  it("does not grow with the requests that another limit rejected", function()
    local config = { mode = "eager", share = 1, most = 1e6, size = "dynamic", expires = 1e6 }
    local lease = filled(leases.new(0), 0)
    lease.credits, lease.expires = 100, 1e6
    for i = 1, 100 do
      assert.is_true(leases.take(lease, i, 1))
      if i > 10 then
        leases.put_back(lease, 1, lease.talk)
      end
    end
    assert.equal(10, leases.most(lease, 1e6, config, 1))
  end)

  local function limit_of(mode, changes)
    local lease = { mode = mode, share = 0.5, most = 30, size = "static", expires = 1e6 }
    for name, value in pairs(changes or {}) do
      lease[name] = value
    end
    return { algorithm = "token_bucket", limit = 10, burst = 10, window = 60e6, ttl = 60e6, lease = lease }
  end

  local nothing_left = { allowed = false, remaining = 0, granted = 0, reset = 60e6, retry_after = 40e6 }

  it("believes that nothing is left for a second at most, however long the store says", function()
    for _, case in ipairs({ { 1e6, 1e6 }, { 50e3, 50e3 }, { 60e6, 1e6 } }) do
      local limit, lease = limit_of("eager", { expires = case[1] }), leases.new(0)
      leases.fill(lease, 0, limit, nothing_left, 0)
      assert.is_true(leases.denies(lease, case[2] - 1, limit))
      assert.is_false(leases.denies(lease, case[2], limit))
    end
  end)

  it("no longer believes that nothing is left when its limit has changed", function()
    for _, change in ipairs({ { limit = 1000 }, { burst = 11 } }) do
      local limit, lease = limit_of("eager"), leases.new(0)
      leases.fill(lease, 0, limit, nothing_left, 0)
      assert.is_false(leases.denies(lease, 1, setmetatable(change, { __index = limit })))
      assert.is_true(leases.denies(lease, 1, limit))
    end
  end)

  it("that is lazy holds nothing after a refusal, even when something remains", function()
    local limit, lease = limit_of("lazy"), leases.new(0)
    leases.request(lease, 0, limit, 5)
    assert.equal(0, leases.fill(lease, 0, limit, { allowed = false, remaining = 3, reset = 60e6, retry_after = 1 }, 0))
    assert.is_false(leases.take(lease, 1, 1))
  end)

  it("that has talked to the store since takes nothing back, which is booked, maybe in a window that is over", function()
    local lease = leases.new(0)
    lease.credits, lease.expires = 2, 10
    local talk = lease.talk
    assert.is_true(leases.take(lease, 1, 1))
    leases.begin_talk(lease)
    leases.put_back(lease, 1, talk)
    assert.are.same({ 1, 1 }, { lease.credits, lease.used })
  end)

  it("that is lazy gives up what is left before the store is asked for more", function()
    local limit, lease = limit_of("lazy"), leases.new(0)
    leases.request(lease, 0, limit, 1)
    leases.fill(lease, 0, limit, { allowed = true, remaining = 10, reset = 60e6, retry_after = 0 }, 0)
    assert.is_true(leases.take(lease, 1, 3))
    assert.are.same({ "report", 3 }, { leases.request(lease, 2, limit, 4) })
    assert.is_false(leases.take(lease, 3, 1))
  end)

  it("of a fixed window ends with it, however late the answer came", function()
    for _, mode in ipairs({ "eager", "lazy" }) do
      local limit, lease = limit_of(mode, { expires = 10e6 }), leases.new(0)
      limit.algorithm = "fixed_window"
      leases.request(lease, 1e6, limit, 1)
      local answer = { allowed = true, remaining = 10, granted = 5, reset = 2e6, retry_after = 0 }
      leases.fill(lease, 2.5e6, limit, answer, 0, 1e6, 1e6)
      assert.is_true(leases.take(lease, 3e6 - 1, 1))
      assert.is_false(leases.take(lease, 3e6, 1))
    end
  end)

  it("of a fixed window that ended while the store was asked keeps no rest of the batch before", function()
    local limit, lease = limit_of("eager", { expires = 10e6 }), leases.new(0)
    limit.algorithm = "fixed_window"
    leases.request(lease, 0, limit, 1)
    leases.fill(lease, 0, limit, { allowed = true, remaining = 0, granted = 3, reset = 2e6, retry_after = 0 }, 0)
    leases.request(lease, 1.9e6, limit, 5)
    assert.equal(7, leases.fill(lease, 2.1e6, limit, { allowed = true, remaining = 0, granted = 7, reset = 2e6 }, 0, 0, 1.9e6))
  end)

  it("owes what it used until the store has answered, and no longer than it counts", function()
    local limit, lease = limit_of("lazy"), leases.new(0)
    leases.request(lease, 0, limit, 1)
    leases.fill(lease, 0, limit, { allowed = true, remaining = 10, reset = 60e6, retry_after = 0 }, 0)
    assert.is_true(leases.take(lease, 1, 4))
    assert.are.same({ "report", 4 }, { leases.settle(lease, 1e6, limit) })
    assert.is_false(leases.take(lease, 1e6, 1))
    assert.are.same({ "report", 4 }, { leases.settle(lease, 2e6, limit) })
    leases.told(lease, "report", 4)
    assert.is_nil((leases.settle(lease, 3e6, limit)))
    assert.equal(0, lease.used)
  end)

  it("forgets what it owes of a fixed window that is over", function()
    local limit, lease = limit_of("lazy"), leases.new(0)
    limit.algorithm = "fixed_window"
    leases.request(lease, 0, limit, 1)
    leases.fill(lease, 0, limit, { allowed = true, remaining = 10, reset = 2e6, retry_after = 0 }, 0)
    assert.is_true(leases.take(lease, 1, 4))
    assert.are.same({ "report", 0 }, { leases.request(lease, 2e6, limit, 1) })
  end)
end)
