local breaker = require("ratelimit.breaker")

local ms = 1000
local config = { failures = 5, open_for = 1000 * ms }

-- Calls of a timeout begin every millisecond while a store stalls; returns the breaker at the end of the stall.
local function stalled(length, timeout)
  local tested = breaker.new(config)
  for now = 0, length + timeout, ms do
    if now >= timeout and now - timeout <= length then
      tested:failed(now - timeout, now)
    end
  end
  return tested
end

describe("a breaker", function()
  it("stays closed when one short stall fails many calls that were under way", function()
    assert.is_true(stalled(33 * ms, 50 * ms):allows(84 * ms))
    assert.is_false(stalled(33 * ms, 50 * ms):is_open(84 * ms))
  end)

  it("opens when a stall lasts for as many timeouts as it takes failures", function()
    assert.is_true(stalled(300 * ms, 50 * ms):is_open(350 * ms))
  end)

  it("opens at once when calls fail one after another", function()
    local tested = breaker.new(config)
    for now = 1, 5 do
      assert.is_true(tested:allows(now))
      tested:failed(now, now)
    end
    assert.is_true(tested:is_open(6))
    assert.is_false(tested:allows(6))
  end)

  it("counts stalls that follow one another without a success, and forgets them at a success", function()
    local tested = breaker.new(config)
    local function stall_four_times()
      for stall = 1, 4 do
        tested:failed(stall * 100 * ms, stall * 100 * ms + 50 * ms)
      end
    end
    stall_four_times()
    tested:failed(1000 * ms, 1050 * ms)
    assert.is_true(tested:is_open(1051 * ms))
    tested = breaker.new(config)
    stall_four_times()
    tested:succeeded()
    tested:failed(1000 * ms, 1050 * ms)
    assert.is_false(tested:is_open(1051 * ms))
  end)

  it("lets one request try after the pause, and is not kept open by calls from before", function()
    local tested = stalled(300 * ms, 50 * ms)
    local over = tested.open_until
    tested:failed(over - 1020 * ms, over - 1 * ms)
    assert.is_true(tested:allows(over))
    assert.is_false(tested:allows(over + 1))
    tested:failed(over, over + 50 * ms)
    assert.is_false(tested:allows(over + 1000 * ms))
    assert.is_true(tested:allows(over + 1050 * ms))
  end)
end)
