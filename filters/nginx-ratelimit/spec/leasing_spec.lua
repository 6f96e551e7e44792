-- A worker's leases over a made-up store, whose answers, failures and time are the test's.

local now, told, store, exiting, woken

local asking = {
  ask = function(_, requests)
    local answers = {}
    for i, request in ipairs(requests) do
      told[#told + 1] = request.verb .. " " .. request.amount
      answers[i] = store(request)
    end
    return answers[1] and answers, not answers[1] and "refused" or nil
  end,
  deadline = function()
    return now + 50e3
  end,
  is_away = function()
    return false
  end,
  knows = function()
    return true
  end,
  kept_waiting = function()
    return "busy"
  end,
  most_together = function()
    return 50
  end,
}

local function steady()
  return now
end

package.loaded["ngx.semaphore"] = {
  new = function()
    return {
      post = function() end,
      wait = function(_, seconds)
        now = now + seconds * 1e6
        if woken then
          woken()
        end
      end,
      count = steady,
    }
  end,
}
package.loaded["ratelimit.asking"] = asking
package.loaded["ratelimit.clock"] = { now = steady, steady = steady }
package.loaded["ratelimit.metrics"] = { add = function() end, series = function() end }
package.loaded["ratelimit.shared_leases"] = {}
_G.ngx = {
  worker = {
    exiting = function()
      return exiting
    end,
  },
  timer = {
    at = function(_, work)
      work()
    end,
  },
}

-- Each test has its own leases.
local function fresh()
  package.loaded["ratelimit.leasing"] = nil
  now, told, exiting, woken = 1e9, {}, false, nil
  return require("ratelimit.leasing")
end

local function limit_of(mode, changes)
  local limit = {
    name = "l",
    store = "far",
    algorithm = "token_bucket",
    limit = 60,
    burst = 60,
    window = 60e6,
    ttl = 60e6,
    lease = { mode = mode, share = 0.5, most = 30, size = "static", expires = 1e6, holder = "worker" },
  }
  for name, value in pairs(changes or {}) do
    limit[name] = value
  end
  return limit
end

local function plenty(request)
  local granted = request.verb == "reserve" and request.amount or 0
  return { allowed = true, remaining = 60 - granted, reset = 60e6, retry_after = 0, granted = granted }
end

local function nothing_left()
  return { allowed = false, remaining = 0, reset = 60e6, retry_after = 60e6, granted = 0 }
end

local function away()
  return nil
end

local function subject_of(limit)
  return { key = "k", limit = limit, cost = 1 }
end

describe("an eager lease", function()
  it("that has expired gives its rest back before it takes a new batch", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = plenty
    assert.is_true(leasing.decide(subject, {}).allowed)
    now = now + 2e6
    assert.is_true(leasing.decide(subject, {}).allowed)
    assert.are.same({ "reserve 30", "refund 29", "reserve 30" }, told)
  end)

  it("gives a rest back once, as a refund that was booked twice would be a second quota", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = plenty
    leasing.decide(subject, {})
    now, store = now + 2e6, away
    leasing.sweep()
    leasing.sweep()
    assert.are.same({ "reserve 30", "refund 29" }, told)
  end)

  it("whose batch was not answered takes no other before the store has answered what takes nothing", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = away
    for _ = 1, 3 do
      assert.is_nil((leasing.decide(subject, {})))
    end
    assert.are.same({ "reserve 30", "take 0", "take 0" }, told)
    store = plenty
    assert.is_true(leasing.decide(subject, {}).allowed)
    now = now + 2e6
    assert.is_true(leasing.decide(subject, {}).allowed)
    assert.are.same({ "take 0", "reserve 30", "refund 29", "reserve 30" }, { unpack(told, 4) })
  end)

  it("whose batch was not answered remembers that through sweeps, until nothing counts it any more", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = away
    for _ = 1, 3 do
      assert.is_nil((leasing.decide(subject, {})))
      leasing.sweep()
      now = now + 2e5
    end
    assert.are.same({ "reserve 30", "take 0", "take 0" }, told)
    now = now + 61e6
    leasing.sweep()
    assert.is_nil((leasing.decide(subject, {})))
    assert.are.same({ "reserve 30" }, { unpack(told, 4) })
  end)

  it("of a fixed window ends as long after it was asked for as the store said, however late that came", function()
    local leasing, limit = fresh(), limit_of("eager", { algorithm = "fixed_window" })
    limit.lease.expires = 10e6
    store = function(request)
      now = now + 40e3
      local granted = request.verb == "reserve" and request.amount or 0
      return { allowed = true, remaining = 30, reset = 1e6, retry_after = 0, granted = granted }
    end
    local asked = now
    assert.is_true(leasing.decide(subject_of(limit), {}).allowed)
    now = asked + 1e6 - 1
    assert.equal("lease", leasing.decide(subject_of(limit), {}).by)
    now = asked + 1e6
    leasing.decide(subject_of(limit), {})
    assert.are.same({ "reserve 30", "refund 28", "reserve 30" }, told)
  end)

  it("that the rules no longer describe gives its rest back under the new ones", function()
    local leasing, heard = fresh(), {}
    store = plenty
    leasing.decide(subject_of(limit_of("eager")), {})
    leasing.decide(subject_of(limit_of("eager", { store = "near", name = "new" })), {})
    now = now + 2e6
    store = function(request)
      heard[#heard + 1] = { request.verb, request.amount, request.limit.name, request.limit.store }
      return plenty(request)
    end
    leasing.sweep()
    assert.are.same({ { "refund", 28, "new", "near" } }, heard)
  end)

  it("that found nothing left asks again after a second", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = nothing_left
    assert.is_false(leasing.decide(subject, {}).allowed)
    store, now = plenty, now + 999e3
    assert.equal(59001000, leasing.decide(subject, {}).retry_after)
    now = now + 1e3
    assert.is_true(leasing.decide(subject, {}).allowed)
  end)

  it("that found nothing left asks at once under a raised limit", function()
    local leasing = fresh()
    store = nothing_left
    assert.is_false(leasing.decide(subject_of(limit_of("eager")), {}).allowed)
    store = plenty
    assert.is_true(leasing.decide(subject_of(limit_of("eager", { limit = 1000 })), {}).allowed)
  end)
end)

describe("a lazy lease", function()
  it("reports what it used when the store is back, if the store was away at the settling", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    for _ = 1, 7 do
      assert.is_true(leasing.decide(subject, {}).allowed)
    end
    now, store = now + 2e6, away
    leasing.sweep()
    store = plenty
    leasing.sweep()
    leasing.sweep()
    assert.are.same({ "report 0", "report 7", "take 0", "report 7" }, told)
  end)

  it("reports what was not answered once more, and only to a store that answers what takes nothing", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    leasing.decide(subject, {})
    now, store = now + 2e6, away
    for _ = 1, 3 do
      leasing.sweep()
      leasing.decide(subject, {})
    end
    store = plenty
    leasing.sweep()
    local reports = {}
    for _, each in ipairs(told) do
      reports[#reports + 1] = each ~= "take 0" and each or nil
    end
    assert.are.same({ "report 0", "report 1", "report 1" }, reports)
  end)

  it("reports with its next batch what the store has not heard of", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    leasing.decide(subject, {})
    now, store = now + 2e6, away
    leasing.sweep()
    store = plenty
    leasing.decide(subject, {})
    assert.are.same({ "report 0", "report 1", "take 0", "report 1" }, told)
  end)

  it("takes no batch while the store has not answered what was used of the last one", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    leasing.decide(subject, {})
    local meanwhile
    now, store = now + 2e6, function(request)
      store = plenty
      meanwhile = leasing.decide(subject, {})
      return plenty(request)
    end
    leasing.sweep()
    assert.is_nil(meanwhile)
    assert.are.same({ "report 0", "report 1" }, told)
    assert.is_true(leasing.decide(subject, {}).allowed)
  end)

  it("asks the store for a request that no batch is large enough for, and lets no one ask past it meanwhile", function()
    local leasing, limit = fresh(), limit_of("lazy")
    local meanwhile
    store = function(request)
      if request.verb == "take" then
        meanwhile = { leasing.decide(subject_of(limit), {}) }
      end
      return { allowed = true, remaining = 6, reset = 60e6, retry_after = 0, delay = 0, granted = 0 }
    end
    local found = leasing.decide({ key = "k", limit = limit, cost = 5 }, {})
    assert.are.same({ true, "store" }, { found.allowed, found.by })
    assert.are.same({ nil, "busy" }, meanwhile)
    assert.is_true(leasing.decide(subject_of(limit), {}).allowed)
    assert.are.same({ "report 0", "take 5", "report 0" }, told)
  end)

  it("gives back to the store what that granted to a request alone, when another limit rejects it", function()
    local leasing, limit = fresh(), limit_of("lazy")
    store = function()
      return { allowed = true, remaining = 6, reset = 60e6, retry_after = 0, delay = 0, granted = 0 }
    end
    leasing.put_back(leasing.decide({ key = "k", limit = limit, cost = 5 }, {}), 5)
    assert.are.same({ "report 0", "take 5", "refund 5" }, told)
  end)

  it("uses what a batch brought that came just when a request would have given up", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    local meanwhile
    store = function(request)
      store = plenty
      woken = function()
        woken = nil
        coroutine.yield()
      end
      meanwhile = coroutine.create(function()
        return leasing.decide(subject, {})
      end)
      coroutine.resume(meanwhile)
      return plenty(request)
    end
    assert.is_true(leasing.decide(subject, {}).allowed)
    assert.is_true(select(2, coroutine.resume(meanwhile)).allowed)
    assert.are.same({ "report 0" }, told)
  end)

  it("stops reporting what nothing counts any more", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    leasing.decide(subject, {})
    now, store = now + 2e6, away
    leasing.sweep()
    now = now + 60e6
    leasing.sweep()
    leasing.sweep()
    assert.are.same({ "report 0", "report 1" }, told)
  end)

  it("is not troubled while its store is known to be away", function()
    local leasing, subject = fresh(), subject_of(limit_of("lazy"))
    store = plenty
    leasing.decide(subject, {})
    now, asking.is_away = now + 2e6, function()
      return true
    end
    leasing.sweep()
    assert.are.same({ "report 0" }, told)
    asking.is_away = function()
      return false
    end
    leasing.sweep()
    assert.are.same({ "report 0", "report 1" }, told)
  end)
end)

describe("a worker that ends", function()
  it("settles its leases and begins no other", function()
    local leasing, subject = fresh(), subject_of(limit_of("eager"))
    store = plenty
    leasing.decide(subject, {})
    exiting = true
    leasing.sweep(true)
    assert.are.same({ "reserve 30", "refund 29" }, told)
    assert.is_nil(leasing.decide(subject, {}))
    assert.equal(2, #told)
  end)
end)
