_G.ngx = _G.ngx or {}

local core = require("ratelimit.core.gcra")
local support = require("support")

-- A store whose dictionary has room for this many writes.
local function store(memory, room)
  local always, shelf = {}, { writes = 0 }
  function always.acquire()
    return true
  end
  function always.release() end
  function shelf.read(_, _, buffer, bytes)
    require("ffi").fill(buffer, bytes)
    return 0
  end
  function shelf.write(self)
    self.writes = self.writes + 1
    if self.writes > room then
      return nil, "no memory"
    end
    return true
  end
  local tidying = { try = always.release }
  return setmetatable({ shelf = shelf, lock = always, tidying = tidying, tidy = always.release }, memory)
end

local function requests(...)
  local list = {}
  for i, key in ipairs({ ... }) do
    local limit = support.rule(support.random(i))
    limit.algorithm, limit.size, limit.seconds, limit.binding = "gcra", core.size(limit), 60, true
    list[i] = { key = key, limit = limit, verb = "take", amount = 1, binding = true, stripe = i }
  end
  return list
end

describe("the store in memory", function()
  it("fails where what several limits granted cannot be kept, and decides where it can", function()
    package.loaded["ratelimit.stores.shelf"] = package.loaded["ratelimit.stores.shelf"] or {}
    local memory = require("ratelimit.stores.memory")
    local answers = assert(store(memory, 2):decide(requests("ann", "all")))
    assert.is_true(answers[1].allowed and answers[2].allowed)
    assert.are.same({ nil, "no memory" }, { store(memory, 1):decide(requests("ann", "all")) })
  end)

  it("keeps what one limit granted although another that does not bind had no room", function()
    local memory = require("ratelimit.stores.memory")
    local asked, kept = requests("ann", "all"), store(memory, 2)
    asked[2].binding, asked[2].amount = false, 1e9
    local answers = assert(kept:decide(asked))
    assert.are.same({ true, false }, { answers[1].allowed, answers[2].allowed })
    assert.are.same({ 1, 1 }, { answers[1].granted, kept.shelf.writes })
    asked[2].binding = true
    assert.equal(0, assert(kept:decide(asked))[1].granted)
    assert.equal(1, kept.shelf.writes)
  end)
end)
