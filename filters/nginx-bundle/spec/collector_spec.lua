local collector = require("bundle.collector")
local support = require("support")

local rule = { size = 3, wait = 0.005 }

local function room(most_waiting, longest)
  return collector.new(most_waiting or 100, longest or 8000)
end

describe("a collector", function()
  it("puts requests of one caller together that come within the time of the first", function()
    local tested = room()
    local first, complete = tested:join("ann", "a", rule, 10)
    assert.equal(1, first.requests)
    assert.is_nil(complete)
    assert.equal(first, (tested:join("ann", "b", rule, 10.0049)))
    assert.are.same({ "a", "b" }, first.ids)
    assert.equal(2, first.requests)
  end)

  it("begins another bundle when the time of the first is over, also where its leader has vanished", function()
    local tested = room()
    local first = tested:join("ann", "a", rule, 10)
    local second = tested:join("ann", "b", rule, 10.005)
    assert.not_equal(first, second)
    assert.equal(1, second.requests)
    tested:close(first)
    assert.equal(second, (tested:join("ann", "c", rule, 10.006)))
  end)

  it("sends a bundle as soon as it is full, and the next request begins another", function()
    local tested = room()
    local first = tested:join("ann", "a", rule, 10)
    local _, early = tested:join("ann", "b", rule, 10)
    assert.is_nil(early)
    local third, complete = tested:join("ann", "c", rule, 10.001)
    assert.equal(first, third)
    assert.equal(first, complete)
    assert.equal(1, (tested:join("ann", "d", rule, 10.001)).requests)
  end)

  it("tells how long its requests have waited together, each from when it came", function()
    local tested = room()
    local bundle = tested:join("ann", "a", rule, 10)
    tested:join("ann", "b", rule, 10.002)
    assert.is_near(0.010, collector.waited(bundle, 10.006), 1e-9)
    assert.equal(0, collector.waited(bundle, 9))
  end)

  it("tells which bundles are full, by the different things that they ask for", function()
    local tested = room()
    local bundle = tested:join("ann", "a", rule, 10)
    tested:join("ann", "a", rule, 10)
    tested:join("ann", "b", rule, 10)
    assert.is_false(collector.is_full(bundle))
    tested:join("ann", "c", rule, 10)
    assert.is_true(collector.is_full(bundle))
  end)

  it("asks once for what two requests ask for, and counts it once towards the size", function()
    local tested = room()
    tested:join("ann", "a", rule, 10)
    tested:join("ann", "a", rule, 10)
    local bundle, complete = tested:join("ann", "b", rule, 10)
    assert.are.same({ "a", "b" }, bundle.ids)
    assert.equal(3, bundle.requests)
    assert.is_nil(complete)
  end)

  it("never puts two callers together", function()
    local tested = room()
    local anns = tested:join("ann", "a", rule, 10)
    local bobs = tested:join("bob", "a", rule, 10)
    assert.not_equal(anns, bobs)
    assert.equal(1, bobs.requests)
  end)

  it("lets nobody join a bundle that its leader has closed", function()
    local tested = room()
    local first = tested:join("ann", "a", rule, 10)
    tested:close(first)
    assert.not_equal(first, (tested:join("ann", "b", rule, 10.001)))
  end)

  it("sends a bundle whose path has no room for another id", function()
    local tested = room(100, 10)
    local first = tested:join("ann", "12345", rule, 10)
    local second, complete = tested:join("ann", "6789", rule, 10)
    assert.equal(first, complete)
    assert.are.same({ "6789" }, second.ids)
    assert.equal(second, (tested:join("ann", "6789", rule, 10)))
  end)

  it("takes nobody in when as many wait as may, until somebody leaves", function()
    local tested = room(2)
    tested:join("ann", "a", rule, 10)
    tested:join("bob", "a", rule, 10)
    assert.is_nil((tested:join("ann", "b", rule, 10)))
    tested:leave()
    assert.is_truthy((tested:join("ann", "b", rule, 10)))
  end)

  it("keeps nothing of bundles that are over", function()
    local tested = room()
    for i = 1, 50 do
      tested:close((tested:join("caller " .. i, "a", rule, 10)))
    end
    assert.is_nil(next(tested.open))
  end)
end)

-- Arrivals of several callers for several things; returns every bundle with what joined it.
local function arrived(tested, random, chosen)
  local bundles, now = {}, 100
  for number = 1, 400 do
    now = now + random(4) / 1000
    local who, id = "caller " .. random(3), "id " .. random(9)
    local bundle = tested:join(who, id, chosen, now)
    bundles[bundle] = bundles[bundle] or {}
    table.insert(bundles[bundle], { number = number, who = who, id = id, at = now })
  end
  return bundles
end

local function check(bundle, requests, chosen, seen)
  assert.is_true(#bundle.ids <= chosen.size)
  assert.equal(#requests, bundle.requests)
  for _, one in ipairs(requests) do
    assert.is_nil(seen[one.number])
    seen[one.number] = true
    assert.equal(requests[1].who, one.who)
    assert.is_true(one.at - requests[1].at < chosen.wait)
    assert.is_true(bundle.asked[one.id])
  end
end

describe("whatever arrives", function()
  it("every request is in one bundle, of its caller, asked for, in time, and none is larger than it may be", function()
    for seed = 1, 40 do
      local random = support.random(seed * 7919)
      local chosen = { size = 2 + random(6), wait = (1 + random(20)) / 1000 }
      local seen = {}
      for bundle, requests in pairs(arrived(room(1000), random, chosen)) do
        check(bundle, requests, chosen, seen)
      end
      assert.equal(400, #seen)
    end
  end)
end)
