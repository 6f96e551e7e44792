-- Redis asked in steps, over a server whose replies are the test's.

local ffi = require("ffi")

local heard, replies, now

package.loaded["ratelimit.clock"] = {
  steady = function()
    now = now + 1000
    return now
  end,
}
package.loaded["ratelimit.wire.connection"] = {
  deadline = function()
    return 50e3
  end,
}
package.loaded["ratelimit.wire.resp"] = {
  converse = function(_, talk)
    return talk(function(commands)
      for _, command in ipairs(commands) do
        heard[#heard + 1] = command[1] .. " " .. tostring(command[2])
      end
      return table.remove(replies, 1)
    end)
  end,
}
_G.ngx = {
  sleep = function() end,
  worker = {
    pid = function()
      return 7
    end,
  },
}

local time = { "1700000000", "0" }
local limit = { algorithm = "fixed_window", limit = 2, window = 1e6, size = 2 }

-- What two units taken in this window look like.
local function full()
  return ffi.string(ffi.new("double[2]", 1700000000e6, 2), 16)
end

local function asked(way, ...)
  local steps = require("ratelimit.stores.redis_steps")
  heard, replies, now = {}, { ... }, 0
  local request = { key = "ann", limit = limit, verb = "take", amount = 1, binding = true }
  return steps.new({ address = {}, asks = way }):decide({ request })
end

describe("Redis asked in steps", function()
  it("writes what a transaction has decided", function()
    local answers = asked("transaction", { "OK", time, false }, { "OK", "QUEUED", { "OK" } })
    assert.are.same({ true, 1, 1700000000e6 }, { answers[1].allowed, answers[1].remaining, answers.time })
    assert.are.same({ "WATCH ann", "TIME nil", "GET ann", "MULTI nil", "SET ann", "EXEC nil" }, heard)
  end)

  it("begins a transaction anew when another has written meanwhile", function()
    local answers = asked("transaction", { "OK", time, false }, { "OK", "QUEUED", {} }, { "OK", time, full() }, { "OK" })
    assert.is_false(answers[1].allowed)
    assert.equal("UNWATCH nil", heard[#heard])
  end)

  it("gives a transaction up at its deadline", function()
    local list = {}
    for i = 1, 200, 2 do
      list[i], list[i + 1] = { "OK", time, false }, { "OK", "QUEUED", {} }
    end
    local answers, err = asked("transaction", unpack(list))
    assert.is_nil(answers)
    assert.truthy(err:find("timeout", 1, true))
  end)

  it("tells an error of the server", function()
    local refused = { error = "NOPERM this user can't" }
    assert.are.same({ nil, refused.error }, { asked("transaction", { refused, time, false }) })
    assert.are.same({ nil, refused.error }, { asked("lock", { refused }) })
  end)

  it("waits for a lock, and gives it back", function()
    local answers = asked("lock", { false }, { "OK" }, { "PONG", time, full() }, { 1 })
    assert.is_false(answers[1].allowed)
    assert.are.same({ "SET ann:lock", "SET ann:lock", "PING nil", "TIME nil", "GET ann", "DEL ann:lock" }, heard)
  end)

  it("gives up when others keep the lock", function()
    local list = {}
    for i = 1, 100 do
      list[i] = { false }
    end
    local answers, err = asked("lock", unpack(list))
    assert.is_nil(answers)
    assert.truthy(err:find("kept the lock", 1, true))
  end)
end)
