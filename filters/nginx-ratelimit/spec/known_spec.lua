-- What a balancer knows of a client, in a dictionary and at times that are the test's.

local now, kept

local function steady()
  return now
end

local function alive(key)
  local entry = kept[key]
  return entry and now < entry.till and entry or nil
end

local dictionary = {
  get = function(_, key)
    return alive(key) and kept[key].value
  end,
  set = function(_, key, value, seconds)
    kept[key] = { value = value, till = now + seconds * 1e6 }
  end,
  incr = function(_, key, units, first, seconds)
    local entry = alive(key) or { value = first, till = now + seconds * 1e6 }
    entry.value, kept[key] = entry.value + units, entry
    return entry.value
  end,
}

package.loaded["ratelimit.clock"] = { now = steady, steady = steady }
_G.ngx = { shared = { ratelimit_cache = dictionary } }

local known = require("ratelimit.known")

before_each(function()
  now, kept = 1e9, {}
end)

local window = 60e6

local function subject_of(algorithm, cost)
  local limit = { algorithm = algorithm, limit = 10, burst = 10, window = window, ttl = window, is_central = true }
  return { key = "k", cost = cost or 1, limit = limit }
end

-- The store's answer to a request of one unit: what remains, and when everything is free again.
local function learn(subject, remaining, reset, time, granted)
  local answer = { remaining = remaining, reset = reset, granted = granted or 1 }
  return known.learn(subject, answer, time or now, now - 1000)
end

describe("a store that forgot a client", function()
  it("lacks what a fixed window had counted", function()
    local subject = subject_of("fixed_window")
    assert.equal(0, learn(subject, 3, 50e6))
    now = now + 10e6
    assert.equal(7, learn(subject, 9, 40e6))
    now = now + 1
    assert.equal(0, learn(subject, 1, 40e6))
  end)

  it("lacks the part that was not restored, too", function()
    local subject = subject_of("fixed_window")
    learn(subject, 3, 50e6)
    now = now + 10e6
    assert.equal(4, learn(subject, 6, 40e6))
  end)

  it("lacks of a bucket what has not drained yet", function()
    for _, algorithm in ipairs({ "token_bucket", "gcra", "leaky_bucket" }) do
      kept = {}
      local subject = subject_of(algorithm)
      learn(subject, 3, 42e6) -- seven units, one each 6 s
      now = now + 12e6
      assert.equal(5, learn(subject, 9, 6e6), algorithm)
    end
  end)

  it("lacks all that a sliding window had counted, when it remembers nothing", function()
    for _, algorithm in ipairs({ "sliding_window_log", "sliding_window_counter" }) do
      kept = {}
      local subject = subject_of(algorithm)
      learn(subject, 3, 50e6)
      now = now + 10e6
      assert.equal(0, learn(subject, 8, 60e6), algorithm)
      kept = {}
      learn(subject, 3, 50e6)
      now = now + 10e6
      assert.equal(7, learn(subject, 9, 60e6), algorithm)
    end
  end)

  it("is not found by an answer that the store gave earlier, or at the same time", function()
    local subject = subject_of("fixed_window")
    learn(subject, 3, 50e6, 1000)
    assert.equal(0, learn(subject, 9, 50e6, 999))
    assert.equal(0, learn(subject, 9, 50e6, 1000))
    assert.equal(0, learn(subject, 2, 50e6, 1001))
  end)

  it("is not found once nothing needs to be remembered, as when a window has ended while the store was asked", function()
    local subject = subject_of("fixed_window")
    learn(subject, 3, 50e6)
    now = now + 50e6
    assert.equal(0, learn(subject, 9, 60e6))
    kept = {}
    learn(subject, 3, 50e6, 1000)
    assert.equal(0, learn(subject, 9, 60e6, 1000 + 50e6)) -- the store's clock was set forward
  end)

  it("is given what it lacks once, and again only when that failed", function()
    local subject = subject_of("fixed_window")
    learn(subject, 3, 50e6)
    now = now + 1
    assert.equal(7, learn(subject, 9, 50e6))
    now = now + 1
    assert.equal(0, learn(subject, 8, 50e6))
    known.owe(subject, 7)
    now = now + 1
    assert.equal(0, learn(subject, 3, 50e6, now, 0))
    assert.equal(7, learn(subject, 2, 50e6, now + 1))
  end)
end)

describe("a balancer whose store is away", function()
  it("admits what the store would still give as far as is known, and reports that", function()
    local subject = subject_of("fixed_window")
    learn(subject, 2, 50e6)
    now = now + 1
    assert.are.same({ true, true, false }, { known.take(subject), known.take(subject), known.take(subject) })
    assert.equal(2, learn(subject, 1, 50e6))
    assert.equal(0, learn(subject, 0, 50e6, now + 1))
  end)

  it("knows that a bucket drains meanwhile", function()
    local subject = subject_of("gcra")
    learn(subject, 0, 60e6)
    assert.is_false(known.take(subject))
    now = now + 12e6
    assert.are.same({ true, true, false }, { known.take(subject), known.take(subject), known.take(subject) })
  end)

  it("leaves the decision to its own part of the limit when nothing is known, and reports that too", function()
    local subject = subject_of("fixed_window", 4)
    assert.is_true(known.take(subject))
    assert.is_true(known.take(subject))
    known.put_back(subject)
    assert.equal(4, learn(subject, 9, 50e6))
  end)

  it("reports nothing of a window that is over", function()
    local subject = subject_of("fixed_window")
    now = 2 * window - 1e6
    assert.is_true(known.take(subject))
    now = 2 * window
    assert.equal(0, learn(subject, 9, 60e6))
  end)
end)
