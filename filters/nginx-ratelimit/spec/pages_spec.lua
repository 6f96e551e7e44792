local ffi = require("ffi")
local log = require("ratelimit.core.sliding_log")
local pages = require("ratelimit.stores.pages")
local support = require("support")

-- A shelf in a table that forgets what has expired, like a shared dictionary.
local function shelf()
  local held, self = {}, { now = 0, room = math.huge, writes = 0 }
  function self.read(_, key, buffer, bytes)
    local kept = held[key]
    local value = kept and kept.till > self.now and kept.value or ""
    ffi.fill(buffer, bytes)
    ffi.copy(buffer, value, math.min(bytes, #value))
    return #value
  end
  function self.write(_, key, buffer, bytes, milliseconds)
    self.writes = self.writes + 1
    if self.writes > self.room then
      return nil, "no memory"
    end
    held[key] = { value = ffi.string(buffer, bytes), till = self.now + milliseconds * 1000 }
    return true
  end
  return self
end

local function decide(on, rule, arrival)
  local state = pages.open(on, "k")
  on.now = arrival[1]
  local allowed, remaining, reset, retry_after = log.decide(state, arrival[1], rule, arrival[2])
  local saved = not allowed or pages.save(state, log.ttl(rule) / 1000 + 1000)
  return { allowed, remaining, reset, retry_after }, saved
end

describe("a log kept by the page", function()
  it("decides like one that is kept whole, though its pages expire", function()
    for seed = 1, 30 do
      local random = support.random(seed)
      local rule = support.rule(random)
      rule.limit = 50 + random(400)
      local on, whole = shelf(), support.fresh(log, rule)
      for _, arrival in ipairs(support.arrivals(random, 600, 9)) do
        local expected = { log.decide(whole, arrival[1], rule, arrival[2]) }
        expected[5] = nil
        assert.are.same(expected, (decide(on, rule, arrival)))
      end
    end
  end)

  it("counts nothing of an admission that found no memory", function()
    local rule, on = { limit = 200, window = 1e6 }, shelf()
    assert.is_true(select(2, decide(on, rule, { support.base, 1 })))
    for step = 1, 3 do
      on.room = on.writes + (step - 1) % 2
      local _, saved = decide(on, rule, { support.base + step, 1 })
      assert.is_nil(saved)
    end
    on.room = math.huge
    assert.equal(198, (decide(on, rule, { support.base + 9, 1 }))[2])
  end)
end)
