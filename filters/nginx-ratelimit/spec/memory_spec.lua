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

-- A store whose dictionary keeps what is written.
local function keeping(memory)
  local ffi, held, kept = require("ffi"), {}, store(memory, math.huge)
  function kept.shelf.read(_, key, buffer, bytes)
    ffi.fill(buffer, bytes)
    ffi.copy(buffer, held[key] or "", #(held[key] or ""))
    return #(held[key] or "")
  end
  function kept.shelf.write(_, key, buffer, bytes)
    held[key] = ffi.string(buffer, bytes)
    return true
  end
  return kept
end

describe("the store in memory", function()
  it("keeps what each verb books or gives back, and nothing of a look", function()
    package.loaded["ratelimit.stores.shelf"] = package.loaded["ratelimit.stores.shelf"] or {}
    local memory = require("ratelimit.stores.memory")
    for _, name in ipairs({ "fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket" }) do
      local kept, limit = keeping(memory), { algorithm = name, limit = 10, window = 3600e6, burst = 10, sub_windows = 5 }
      limit.size, limit.seconds, limit.binding = require("ratelimit.core")[name].size(limit), 7200, true
      local at
      local function left_after(verb, amount)
        local request = { key = "ann", limit = limit, verb = verb, amount = amount, share = 1, at = at }
        request.binding, request.stripe = true, 1
        local answers = assert(kept:decide({ request }))
        at = answers.time
        return math.floor(answers[1].remaining + 0.5)
      end
      local left = { left_after("take", 4), left_after("report", 2), left_after("reserve", 3), left_after("refund", 2) }
      left[5] = left_after("take", 0)
      assert.are.same({ 6, 4, 1, 3, 3 }, left, name)
    end
  end)

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
