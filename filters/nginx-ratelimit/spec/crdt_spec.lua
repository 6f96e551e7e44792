-- The store on a sidecar, whose replies and time are the test's.

local now, sent, replies, timers

local function steady()
  return now
end

package.loaded["ratelimit.clock"] = { now = steady, steady = steady }
package.loaded["ratelimit.wire.connection"] = {
  patient = function(address)
    return address
  end,
}
package.loaded["ratelimit.wire.resp"] = {
  bulk = function(argument)
    return argument .. " "
  end,
  ask = function(_, command, deadline)
    if deadline and now >= deadline then
      return nil, "timeout"
    end
    sent[#sent + 1] = command:match("(PB%.%u+ %S+)")
    now = now + 20e3
    return table.remove(replies, 1)
  end,
}
_G.ngx = { timer = {
  at = function(_, work)
    timers[#timers + 1] = work
  end,
} }

local crdt = require("ratelimit.stores.crdt")

local limit = { algorithm = "fixed_window", limit = 10, window = 60e6 }
local yes, no = { 1, 9, 60000, 0, 0 }, { 0, 0, 60000, 60000, 0 }

local function take(key)
  return { key = key, limit = limit, verb = "take", amount = 1, binding = true }
end

local function decide(deadline, ...)
  now, sent, timers, replies = 1e9, {}, {}, { ... }
  return crdt.new({ address = {} }):decide({ take("a"), take("b"), take("c") }, nil, now + deadline)
end

describe("a lease over a sidecar", function()
  it("asks for its share of what remains, and not for all", function()
    local lease = { key = "k", limit = limit, verb = "reserve", amount = 1000000, share = 0.1 }
    assert.equal("1000000 0 100000 ", crdt.command(lease, 0):match("60000 (.*)$"))
  end)
end)

describe("several limits over a sidecar", function()
  it("are asked and given back within one deadline; what is left to give back is done later", function()
    local answers = decide(70e3, yes, yes, no, { 1, 10, 60000, 0, 0 })
    assert.are.same({ "PB.TAKE a", "PB.TAKE b", "PB.TAKE c", "PB.GIVE a" }, sent)
    assert.are.same({ 10, 10, 0 }, { answers[1].remaining, answers[2].remaining, answers[2].granted })
    assert.is_true(now <= 1e9 + 80e3)
    replies = { { 1, 10, 60000, 0, 0 } }
    assert.equal(1, #timers)
    timers[1]()
    assert.equal("PB.GIVE b", sent[#sent])
  end)

  it("fail together when the time is over, and nothing stays taken", function()
    local answers, err = decide(30e3, yes, yes)
    assert.are.same({ nil, "timeout" }, { answers, err })
    for _, timer in ipairs(timers) do
      replies = { { 1, 10, 60000, 0, 0 } }
      timer()
    end
    assert.are.same({ "PB.TAKE a", "PB.TAKE b", "PB.GIVE a", "PB.GIVE b" }, sent)
  end)
end)
