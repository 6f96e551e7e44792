local ffi = require("ffi")
local log = require("ratelimit.core.sliding_log")
local memory_of = require("ratelimit.stores.pages")
local support = require("support")

-- The same log as a list that is searched from end to end.
local function naive(window)
  local list, self = {}, {}
  local function sum()
    local total = 0
    for _, each in ipairs(list) do
      total = total + each[2]
    end
    return total
  end
  local function forget(now)
    while list[1] and now - list[1][1] >= window do
      table.remove(list, 1)
    end
  end
  local function wait(now, limit, cost)
    local left = sum()
    for _, each in ipairs(list) do
      left = left - each[2]
      if left + cost <= limit then
        return each[1] + window - now
      end
    end
    return -1
  end
  local function add(now, cost)
    local newest = list[#list]
    if newest and newest[1] == now then
      newest[2] = newest[2] + cost
    else
      list[#list + 1] = { now, cost }
    end
  end
  function self.decide(now, limit, cost)
    forget(now)
    local allowed = cost == 0 or sum() + cost <= limit
    if allowed and cost > 0 then
      add(now, cost)
    end
    local newest = list[#list]
    local reset = newest and newest[1] + window - now or 0
    return { allowed, math.max(0, limit - sum()), reset, allowed and 0 or wait(now, limit, cost), 0 }
  end
  function self.give_back(now, amount, at)
    forget(now)
    for _, each in ipairs(list) do
      if each[1] == at then
        each[2] = each[2] - math.min(amount, each[2])
      end
    end
  end
  function self.at(random)
    return list[1] and list[1 + random(#list)][1] or 0
  end
  return self
end

-- A state that counts how many numbers are looked at.
local function counted(state)
  local looks = { reads = 0 }
  return setmetatable({}, {
    __index = function(_, i)
      looks.reads = looks.reads + 1
      return state[i] or 0
    end,
    __newindex = function(_, i, value)
      state[i] = value
    end,
  }),
    looks
end

describe("a sliding window log", function()
  it("decides like a list that is searched from end to end, though its limit changes and costs are given back", function()
    for seed = 1, 60 do
      local random = support.random(seed)
      local rule = { window = (1 + random(20)) * 500000, limit = 1 + random(60) }
      local state, list, now = { 0, 0, 0, 0 }, naive(rule.window), support.base
      for step = 1, 300 do
        now = now + ({ 0, 1, 1000, 40000, 300000, 2000000 })[1 + random(6)]
        if random(25) == 0 then
          rule.limit = 1 + random(90)
        end
        if random(10) == 0 then
          local at, amount = list.at(random), 1 + random(4)
          list.give_back(now, amount, at)
          log.settle(state, now, rule, -amount, at)
        end
        local cost = random(4)
        assert.are.same(list.decide(now, rule.limit, cost), { log.decide(state, now, rule, cost) }, seed .. ", " .. step)
      end
    end
  end)

  local function full(entries)
    local rule, state = { limit = entries, window = 60e6 }, { 0, 0, 0, 0 }
    for i = 1, entries do
      assert(log.decide(state, support.base + i, rule, 1))
    end
    return rule, state
  end

  it("looks at few numbers of 60,000 entries, whatever a request costs and however many expire", function()
    local rule, state = full(60000)
    for _, cost in ipairs({ 1, 2, 1000, 30000, 59999, 60000, 60001, 1e6 }) do
      local watched, looks = counted(state)
      assert.is_false((log.decide(watched, support.base + 70000, rule, cost)))
      assert.is_true(looks.reads < 250, cost .. " looked at " .. looks.reads)
    end
    for _, later in ipairs({ 60e6 + 2, 60e6 + 30000, 60e6 + 59999, 120e6 }) do
      local watched, looks = counted(state)
      assert.is_true((log.decide(watched, support.base + later, rule, 1)))
      assert.is_true(looks.reads < 250, later .. " looked at " .. looks.reads)
    end
  end)

  it("gives back at a bounded price, and keeps booked what would cost more", function()
    local rule, state = full(60000)
    local watched, looks = counted(state)
    log.settle(watched, support.base + 70000, rule, -1, support.base + 1)
    assert.is_true(looks.reads < 250)
    assert.equal(60000, state[3])
    log.settle(watched, support.base + 70000, rule, -1, support.base + 59500)
    assert.equal(59999, state[3])
  end)
end)

-- A shelf in a table, and the layout that the memory store chooses: short states as a whole, long ones by the page.
local function store()
  local held = {}
  local shelf = {
    read = function(_, key, buffer, bytes, most)
      local value = held[key] or ""
      ffi.fill(buffer, bytes)
      ffi.copy(buffer, value, math.min(#value, #value > bytes and most or bytes))
      return #value
    end,
    write = function(_, key, buffer, bytes)
      held[key] = ffi.string(buffer, bytes)
      return true
    end,
  }
  local longest, buffer = 64, ffi.new("double[129]")
  local function open(rule)
    if log.size(rule) > longest then
      return memory_of.open(shelf, "k")
    end
    local found = shelf:read("k", buffer + 1, log.size(rule) * 8, 128 * 8)
    return memory_of.is_heading(found) and memory_of.open(shelf, "k") or buffer
  end
  return function(now, rule, cost)
    local state = open(rule)
    local answer = { log.decide(state, now, rule, cost) }
    if answer[1] and type(state) == "table" then
      memory_of.save(state, 1e9)
    elseif answer[1] then
      shelf:write("k", state + 1, log.stored(state) * 8)
    end
    return answer
  end
end

describe("a log in shared memory", function()
  it("remembers everyone when its limit changes between short and long", function()
    for seed = 1, 40 do
      local random = support.random(seed)
      local rule, now = { window = 20e6, limit = 1 + random(200) }, support.base
      local decide, list = store(), naive(rule.window)
      for step = 1, 400 do
        now = now + ({ 0, 1, 1000, 40000, 300000 })[1 + random(5)]
        if random(40) == 0 then
          rule.limit = 1 + random(200)
        end
        local cost = 1 + random(3)
        assert.are.same(list.decide(now, rule.limit, cost), decide(now, rule, cost), seed .. ", " .. step)
      end
    end
  end)
end)
