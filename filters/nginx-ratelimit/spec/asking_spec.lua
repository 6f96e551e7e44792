-- A store behind `asking`, whose answers are the test's.

local now, answers, calls, more
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
    }
  end,
}

package.loaded["ratelimit.clock"] = { now = steady, steady = steady }
package.loaded["ratelimit.wire.connection"] = {}
package.loaded["ratelimit.stores.lines"] = { busy = "busy" }
for _, kind in ipairs({ "memory", "redis", "mariadb", "crdt" }) do
  package.loaded["ratelimit.stores." .. kind] = far
end
_G.ngx = { log = function() end }

local asking = require("ratelimit.asking")

local function prepare()
  now, answers, calls, more = 1e9, { ok_answer, time = 1 }, {}, {}
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
