-- A store behind `asking`, whose answers are the test's.

local now, answers, calls, more, greetings, used
local ok_answer = { allowed = true, remaining = 1, reset = 1, retry_after = 0, delay = 0, granted = 1 }

local function steady()
  return now
end

local far = {
  new = function()
    return {
      decide = function(_, _, _, deadline)
        calls[#calls + 1] = deadline
        return answers
      end,
      purge = function()
        calls[#calls + 1] = "purge"
        return 10000, table.remove(more, 1)
      end,
      warm = function()
        calls[#calls + 1] = "warm"
        return unpack(greetings[(#calls - 1) % #greetings + 1])
      end,
      address = "old",
    }
  end,
}

package.loaded["ratelimit.clock"] = { now = steady, steady = steady }
package.loaded["ratelimit.wire.connection"] = {
  ahead = function(address)
    return address .. ", ahead"
  end,
  use = function(address)
    used = address
  end,
  is_old = function()
    return false
  end,
}
package.loaded["ratelimit.stores.lines"] = { busy = "busy" }
for _, kind in ipairs({ "memory", "redis", "mariadb", "crdt" }) do
  package.loaded["ratelimit.stores." .. kind] = far
end

local function run(work, ...)
  return { work(...) }
end

_G.ngx = {
  log = function() end,
  thread = {
    spawn = run,
    wait = function(came)
      return true, came[1], came[2]
    end,
  },
}

local asking = require("ratelimit.asking")

local function prepare()
  now, answers, calls, more, greetings, used = 1e9, { ok_answer, time = 1 }, {}, {}, { { "PONG" } }, nil
  asking.prepare({ stores = {} })
  asking.prepare({
    stores = { far = { kind = "redis", timeout = 50e3, breaker = { failures = 5, open_for = 1e6 } } },
  })
end

local requests = { { limit = { ttl = 10e6 } } }

describe("an answer", function()
  it("that no server of ours would give is a failure of the store, never an error or a long sleep", function()
    for field, values in pairs({
      delay = { 86400e6, 1 / 0, -1, 0 / 0, "1" },
      remaining = { 1 / 0, -1, 0 / 0, false },
      reset = { 1 / 0, -2, 0 / 0 },
      retry_after = { 1 / 0, -2, 0 / 0 },
      granted = { 1 / 0, -1 },
      allowed = { 1 },
    }) do
      for _, value in ipairs(values) do
        prepare()
        answers = { setmetatable({ [field] = value }, { __index = ok_answer }), time = 1 }
        assert.is_nil((asking.ask("far", requests)), field .. " " .. tostring(value))
      end
    end
    for _, time in ipairs({ 1 / 0, -1 / 0, 0 / 0 }) do
      prepare()
      answers = { ok_answer, time = time }
      assert.is_nil((asking.ask("far", requests)))
    end
  end)

  it("with the greatest numbers that a limit has is taken", function()
    prepare()
    local great = { delay = 10e6, retry_after = -1, reset = 86400e6, remaining = 1e9 }
    answers = { setmetatable(great, { __index = ok_answer }), time = 1e15 }
    assert.equal(answers, asking.ask("far", requests))
  end)
end)

describe("a request", function()
  it("waits for a store until one moment, however often it asks it", function()
    prepare()
    local deadlines = {}
    asking.ask("far", requests, deadlines)
    now = now + 30e3
    asking.ask("far", requests, deadlines)
    assert.are.same({ 1e9 + 50e3, 1e9 + 50e3 }, calls)
  end)

  it("whose time is used up asks no more, and nobody blames the store", function()
    prepare()
    local deadlines = { far = now - 1 }
    for _ = 1, 10 do
      assert.is_nil((asking.ask("far", requests, deadlines)))
    end
    assert.are.same({}, calls)
    assert.is_false(asking.is_away("far", now))
  end)
end)

describe("a purge", function()
  it("goes on every second as long as there is more, then once a minute", function()
    prepare()
    more = { true, true, false, false }
    for _ = 1, 125 do
      now = now + 1e6
      asking.purge_in_turn()
    end
    assert.equal(4, #calls)
  end)

  it("is not begun again by each change of the rules, nor put off by it", function()
    prepare()
    for _ = 1, 61 do
      now = now + 1e6
      asking.prepare({
        stores = { far = { kind = "redis", timeout = 50e3, breaker = { failures = 5, open_for = 1e6 } } },
      })
      asking.purge_in_turn()
    end
    assert.equal(1, #calls)
  end)
end)

describe("connections made ahead", function()
  local refused, silent, welcome = { { error = "NOAUTH" } }, { nil, "timeout" }, { { "10", "7" } }

  it("are used as soon as one of them was welcome, and not made again", function()
    for _, came in ipairs({ { welcome }, { silent, refused, silent, welcome }, { welcome, refused, silent, refused } }) do
      prepare()
      greetings = came
      asking.warm()
      assert.are.same({ "old, ahead", 4 }, { used, #calls })
      asking.warm()
      assert.equal(4, #calls)
    end
  end)

  it("are not used and are tried again where none was welcome: the old ones may still serve", function()
    for _, came in ipairs({ { refused }, { silent }, { silent, refused }, { refused, silent, silent, refused } }) do
      prepare()
      greetings = came
      asking.warm()
      assert.is_nil(used)
      asking.warm()
      assert.equal(8, #calls)
    end
  end)
end)
