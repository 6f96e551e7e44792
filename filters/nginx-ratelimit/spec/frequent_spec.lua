local frequent = require("ratelimit.frequent")
local support = require("support")

-- A stream in which low keys are frequent: { key, ... } and the true counts.
local function stream(seed, length, keys)
  local random, list, truth = support.random(seed), {}, {}
  for i = 1, length do
    local key = "k" .. random(1 + random(keys))
    list[i], truth[key] = key, (truth[key] or 0) + 1
  end
  return list, truth
end

local function counted(list, most)
  local summary = frequent.new(most)
  for _, key in ipairs(list) do
    summary:add(key, 1)
  end
  return summary
end

-- Never too low, too high by at most what it says, and that is at most n / (most + 1).
local function assert_within_bounds(summary, truth, length, most)
  local seen = {}
  for key, count in pairs(summary.counts) do
    seen[key] = true
    assert.is_true(count >= (truth[key] or 0))
    assert.is_true(count - summary.over[key] <= (truth[key] or 0))
    assert.is_true(summary.over[key] <= length / (most + 1))
  end
  for key, count in pairs(truth) do
    assert.is_true(seen[key] or count <= summary.floor, key)
    assert.is_true(seen[key] or count <= length / (most + 1), key)
  end
end

describe("the most frequent keys", function()
  it("are exact while there is room for all", function()
    local top = counted({ "a", "b", "a", "c", "a", "b" }, 3):top()
    assert.are.same({
      { key = "a", count = 3, over = 0 },
      { key = "b", count = 2, over = 0 },
      { key = "c", count = 1, over = 0 },
    }, top)
  end)

  it("are the example in the manual", function()
    local summary = counted({ "a", "b", "a", "c" }, 1)
    assert.are.same({ a = 2, c = 2 }, summary.counts)
    assert.are.same({ a = 0, c = 1 }, summary.over)
  end)

  it("are counted within the stated bounds, and none with more than its part is missed", function()
    for seed = 1, 20 do
      for _, most in ipairs({ 1, 3, 10, 40 }) do
        local list, truth = stream(seed * 7919, 3000, 200)
        assert_within_bounds(counted(list, most), truth, #list, most)
      end
    end
  end)

  it("need no more memory than twice their number, however many keys come", function()
    local summary = frequent.new(10)
    for i = 1, 5000 do
      summary:add("key" .. i, 1)
      local size = 0
      for _ in pairs(summary.counts) do
        size = size + 1
      end
      assert.is_true(size <= 20)
      assert.equal(size, summary.size)
    end
  end)

  it("are as many as there is room for, where all are alike", function()
    local summary = frequent.new(5)
    for round = 1, 4 do
      for key = 1, 10 do
        summary:add("key" .. key, 1)
      end
      assert.equal(5, #summary:compact():top(), round)
    end
  end)

  it("of two streams together are within the bounds of both", function()
    for seed = 1, 20 do
      local one, truth = stream(seed * 7919, 2000, 150)
      local other, more = stream(seed * 104729, 1000, 150)
      for key, count in pairs(more) do
        truth[key] = (truth[key] or 0) + count
      end
      local merged = counted(one, 10):merge(counted(other, 10))
      assert_within_bounds(merged, truth, 3000, 10)
      assert.equal(3000, merged.total)
      assert_within_bounds(merged:compact(), truth, 3000, 10)
      assert.is_true(#merged:top() <= 10)
    end
  end)
end)
