-- What a worker does again and again, and how soon: the modules that do it are made up, and so is nginx.

local timers, once, done, id

local function does(name)
  return function(...)
    done[#done + 1] = name
    return ...
  end
end

local parts = {
  asking = { "warm", "check", "purge_in_turn", "prepare" },
  decisions = { "flush" },
  hot = { "publish", "prepare" },
  in_force = { "refresh" },
  leasing = { "sweep" },
  metrics = { "flush" },
}
for _, name in ipairs({ "answers", "counting", "deciding", "subjects", "stores.memory" }) do
  package.loaded["ratelimit." .. name] = {}
end
for name, actions in pairs(parts) do
  local part = { current = {} }
  for _, action in ipairs(actions) do
    part[action] = does(name .. "." .. action)
  end
  package.loaded["ratelimit." .. name] = part
end

local logged

_G.ngx = {
  ERR = "error",
  log = function(_, ...)
    logged[#logged + 1] = table.concat({ ... })
  end,
  timer = {
    every = function(seconds, work)
      timers[#timers + 1] = { seconds = seconds, work = work }
      return true
    end,
    at = function(seconds, work)
      once[#once + 1] = { seconds = seconds, work = work }
      return true
    end,
  },
  worker = {
    id = function()
      return id
    end,
  },
}

local filter = require("ratelimit")

-- What a worker has begun: each action with its seconds.
local function begun_by(worker)
  timers, once, done, logged, id = {}, {}, {}, {}, worker
  filter.work()
  local found = {}
  for _, timer in ipairs(timers) do
    done = {}
    timer.work(false)
    for _, name in ipairs(done) do
      found[name] = timer.seconds
    end
  end
  return found
end

describe("a worker of nginx", function()
  it("settles leases, tells numbers and decisions, follows the rules and keeps connections, each in its time", function()
    assert.are.same({
      ["metrics.flush"] = 0.5,
      ["hot.publish"] = 1,
      ["decisions.flush"] = 0.2,
      ["leasing.sweep"] = 0.1,
      ["in_force.refresh"] = 1,
      ["asking.warm"] = 1,
    }, begun_by(3))
  end)

  it("that is the first one also purges stores and checks their settings: once for all workers", function()
    local first, other = begun_by(0), begun_by(1)
    assert.are.same({ 1, 1 }, { first["asking.purge_in_turn"], first["asking.check"] })
    assert.are.same({}, { other["asking.purge_in_turn"], other["asking.check"] })
  end)

  it("makes its connections before the first request", function()
    begun_by(2)
    done = {}
    assert.are.same({ 0, 1 }, { once[1].seconds, #once })
    once[1].work(false)
    assert.are.same({ "asking.warm" }, done)
  end)

  it("goes on after an error in one of these, and tells it", function()
    begun_by(2)
    local sweep = package.loaded["ratelimit.leasing"].sweep
    package.loaded["ratelimit.leasing"].sweep = function()
      error("out of leases", 0)
    end
    timers, logged = {}, {}
    filter.work()
    for _, timer in ipairs(timers) do
      timer.work(false)
    end
    package.loaded["ratelimit.leasing"].sweep = sweep
    assert.are.same({ "ratelimit: out of leases" }, logged)
  end)
end)
