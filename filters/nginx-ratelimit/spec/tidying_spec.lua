local tidying = require("ratelimit.stores.tidying")

local function dictionary()
  local values = {}
  return {
    get = function(_, name)
      return values[name]
    end,
    set = function(_, name, value)
      values[name] = value
    end,
    delete = function(_, name)
      values[name] = nil
    end,
  }
end

-- Workers that find the dictionary full a thousand times a second. Returns when they searched, in microseconds.
local function searches(seconds, took, found, workers)
  local now, list, turns, plans = 0, {}, dictionary(), {}
  for i = 1, workers or 1 do
    plans[i] = tidying.new(turns, function()
      return now
    end)
  end
  for at = 0, seconds * 1e6, 1000 do
    now = math.max(now, at)
    plans[1 + (at / 1000) % #plans]:try(function(count)
      list[#list + 1], now = now, now + took
      return math.min(count, found)
    end)
  end
  return list
end

describe("the search for expired values in a full dictionary", function()
  it("takes at most a fiftieth of the time of all workers together, however many there are", function()
    for _, found in ipairs({ 0, 1, 200 }) do
      local list = searches(100, 20000, found, 8)
      assert.is_true(#list * 20000 <= 100e6 / 50 + 20000, #list .. " searches")
    end
  end)

  it("backs off while nothing is found, up to 16 s", function()
    local list = searches(60, 10, 0)
    local gaps = {}
    for i = 2, #list do
      gaps[i - 1] = math.floor((list[i] - list[i - 1]) / 1e6 + 0.5)
    end
    assert.are.same({ 1, 2, 4, 8, 16, 16 }, gaps)
  end)

  it("goes on step by step, without a pause, while there is much", function()
    assert.is_true(#searches(1, 10, 200) > 900)
  end)
end)
