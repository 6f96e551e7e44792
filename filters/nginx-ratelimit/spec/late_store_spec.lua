-- Leases of several balancers over one store that answers late, in simulated time: the bounds of `leases` hold all the same.
--
-- The filter's own code of leases runs here, worker by worker, in coroutines; the way to the store and back takes a while, now
-- and then longer than anybody waits. A call that came in time may still be read late, as by a worker that stood still.

local cores = require("ratelimit.core")
local ffi = require("ffi")
local support = require("support")
local verbs = require("ratelimit.core.verbs")

local window, limit_of_all, largest = 2e6, 60, 8
local timeout = 200e3

-- Time: coroutines that sleep, woken in the order of their times. -----------------------------------------------------

local now, sleepers, made

-- Sleeps until an alarm rings; whoever has it may set it anew.
local function sleep_until(alarm)
  coroutine.yield(alarm)
end

local function sleep(microseconds)
  sleep_until({ at = now + math.max(1, math.floor(microseconds)) })
end

local function advance(thread, ...)
  local ok, alarm = coroutine.resume(thread, ...)
  if not ok then
    error(debug.traceback(thread, alarm), 0)
  elseif alarm then
    made = made + 1
    alarm.number, alarm.thread = made, thread
    sleepers[#sleepers + 1] = alarm
  end
end

local function start(work)
  advance(coroutine.create(work))
end

local function first_sleeper()
  local first = 1
  for i = 2, #sleepers do
    local one, best = sleepers[i], sleepers[first]
    if one.at < best.at or one.at == best.at and one.number < best.number then
      first = i
    end
  end
  return table.remove(sleepers, first)
end

local function run_until(moment)
  while sleepers[1] do
    local each = first_sleeper()
    if each.at > moment then
      return
    end
    now = each.at
    advance(each.thread)
  end
end

-- What nginx brings. --------------------------------------------------------------------------------------------------

local clock = {
  now = function()
    return now
  end,
  steady = function()
    return now
  end,
}

-- Whoever waits is woken when a talk is over.
local semaphore = {
  new = function()
    local self = { waiters = {} }
    function self.post()
      for _, alarm in ipairs(self.waiters) do
        alarm.at = now
      end
    end
    function self.count()
      return -#self.waiters
    end
    function self.wait(_, seconds)
      local alarm = { at = now + seconds * 1e6 }
      self.waiters[#self.waiters + 1] = alarm
      sleep_until(alarm)
    end
    return self
  end,
}

-- A dictionary of bytes, as `shelf` has it.
local function shelf()
  local kept = {}
  return {
    read = function(_, place, buffer, bytes)
      local found = kept[place] or ""
      ffi.fill(buffer, bytes)
      ffi.copy(buffer, found, math.min(bytes, #found))
      return #found
    end,
    write = function(_, place, buffer, bytes)
      kept[place] = ffi.string(buffer, bytes)
      return true
    end,
  }
end

-- The store, and the way there. --------------------------------------------------------------------------------------

local random, core, rule, state, worst
local under_way, most_under_way

local function handle(requests)
  local answers = { time = now }
  for i, each in ipairs(requests) do
    local allowed, remaining, reset, retry_after, delay, granted =
      verbs[each.verb](core, state, now, rule, each.amount, each.share, each.at or 0)
    answers[i] = { allowed = allowed, remaining = remaining, reset = reset, retry_after = retry_after }
    answers[i].delay, answers[i].granted = delay, granted
  end
  return answers
end

-- Mostly some milliseconds; one way of ten takes up to what `worst` says, which may be longer than anyone waits.
local function way()
  return random(10) == 0 and random(worst) or 500 + random(5000)
end

local asking = {
  is_away = function()
    return false
  end,
  knows = function()
    return true
  end,
  most_together = function()
    return 1
  end,
  kept_waiting = function()
    return "busy"
  end,
  deadline = function(name, deadlines)
    deadlines[name] = deadlines[name] or now + timeout
    return deadlines[name]
  end,
}

function asking.ask(name, requests, deadlines)
  local deadline = asking.deadline(name, deadlines or {})
  local there, back, stands_still = way(), way(), random(20) == 0
  if now > deadline then
    return nil, "timeout"
  elseif now + there + back > deadline and not stands_still then
    -- Nobody waits for it any more; half of the stores know that, and count nothing.
    start(function()
      sleep(there)
      if now <= deadline or random(2) == 0 then
        handle(requests)
      end
    end)
    sleep(deadline - now)
    return nil, "timeout"
  end
  under_way = under_way + 1
  most_under_way = math.max(most_under_way, under_way)
  sleep(there)
  local answers = handle(requests)
  sleep(back + (stands_still and random(2 * timeout) or 0))
  under_way = under_way - 1
  return answers
end

-- Balancers. ----------------------------------------------------------------------------------------------------------

-- A worker's own copy of the code of leases; the workers of a balancer share their memory.
local function worker_of(shared)
  package.loaded["ratelimit.shared_leases"], package.loaded["ratelimit.leasing"] = shared, nil
  return require("ratelimit.leasing")
end

local function memory_of_a_balancer()
  local memory = shelf()
  package.loaded["ratelimit.stores.shelf"] = {
    new = function()
      return memory
    end,
  }
  package.loaded["ratelimit.shared_leases"] = nil
  return require("ratelimit.shared_leases")
end

package.loaded["ngx.semaphore"] = semaphore
package.loaded["ratelimit.asking"] = asking
package.loaded["ratelimit.clock"] = clock
package.loaded["ratelimit.metrics"] = { add = function() end, series = function() end }
-- Now and then others hold the lock.
package.loaded["ratelimit.stores.lock"] = {
  new = function()
    return {
      acquire_one = function()
        return random(500) > 0 or nil
      end,
      release_one = function() end,
    }
  end,
  stripe = function()
    return 1
  end,
}
_G.ngx = {
  shared = {},
  worker = {
    exiting = function()
      return false
    end,
  },
  sleep = function(seconds)
    sleep(seconds * 1e6)
  end,
  timer = {
    at = function(_, work)
      start(work)
    end,
  },
}

local function sweeping(worker)
  return function()
    while true do
      sleep(100e3)
      worker.sweep()
    end
  end
end

-- A request, which asks the store past a lease that does not decide it; notes when it was admitted, by the clock that decided.
local function request(worker, subject, admitted)
  return function()
    local found, err = worker.decide(subject, {})
    if not found and not err then
      local look = { key = subject.key, limit = subject.limit, verb = "take", amount = subject.cost }
      local answers = asking.ask("far", { look }, {})
      found = answers and { allowed = answers[1].allowed, time = answers.time }
    end
    if found and found.allowed then
      admitted[#admitted + 1] = { found.time, subject.cost }
    end
  end
end

-- The beginning of a day, a new store, and a limit.
local function begin(algorithm, lease)
  now, sleepers, made, under_way, most_under_way = support.base + 1, {}, 0, 0, 0
  core = cores[algorithm]
  rule = { limit = limit_of_all, window = window, burst = limit_of_all, sub_windows = 4 }
  state = support.fresh(core, rule)
  local limit = setmetatable({ name = "l", store = "far", algorithm = algorithm, lease = lease }, { __index = rule })
  limit.ttl = core.ttl(rule)
  return limit
end

-- Two balancers of two workers; a client asks them all, for as long as some windows last.
local function simulate(algorithm, lease, most_cost)
  local limit, workers, admitted = begin(algorithm, lease), {}, {}
  for _ = 1, 2 do
    local shared = memory_of_a_balancer()
    for _ = 1, 2 do
      workers[#workers + 1] = worker_of(shared)
      start(sweeping(workers[#workers]))
    end
  end
  start(function()
    while true do
      sleep(random(16000))
      local subject = { key = "k", limit = limit, cost = 1 + random(most_cost) }
      start(request(workers[1 + random(4)], subject, admitted))
    end
  end)
  run_until(support.base + 5 * window)
  return admitted
end

local function most_in(admitted, place_of)
  local most, sums = 0, {}
  for _, each in ipairs(admitted) do
    local place = place_of(each[1])
    sums[place] = (sums[place] or 0) + each[2]
    most = math.max(most, sums[place])
  end
  return most
end

local function per_window(admitted)
  return most_in(admitted, function(time)
    return math.floor(time / window)
  end)
end

local function in_any_window(admitted)
  table.sort(admitted, function(a, b)
    return a[1] < b[1]
  end)
  local most, sum, first = 0, 0, 1
  for _, each in ipairs(admitted) do
    sum = sum + each[2]
    while each[1] - admitted[first][1] >= window do
      sum, first = sum - admitted[first][2], first + 1
    end
    most = math.max(most, sum)
  end
  return most
end

-- What `judge` finds for each way to hold a lease, each cost and each lateness, at its most over some seeds.
local function each_case(algorithm, mode, judge)
  for _, holder in ipairs({ "worker", "balancer" }) do
    for _, most_cost in ipairs({ 1, 3 }) do
      for _, late in ipairs({ 20e3, 150e3, 600e3 }) do
        for seed = 1, 2 do
          random, worst = support.random(seed * 7919), late
          local lease = { mode = mode, share = 0.5, most = largest, size = "static", expires = 300e3, holder = holder }
          local admitted = simulate(algorithm, lease, most_cost)
          local where = ("%s, cost up to %d, late by %d ms, seed %d"):format(holder, most_cost, late / 1e3, seed)
          judge(admitted, holder == "worker" and 4 or 2, where, most_cost - 1)
        end
      end
    end
  end
end

describe("leases over a store that answers late", function()
  it("never admit more than limit + (N - 1) n in a fixed window when they are lazy", function()
    each_case("fixed_window", "lazy", function(admitted, holders, where)
      local most = per_window(admitted)
      assert.is_true(most <= limit_of_all + (holders - 1) * largest, most .. ": " .. where)
      assert.is_true(most > limit_of_all / 2, most .. ": " .. where)
    end)
  end)

  it("never admit more than limit + (N - 1) n in any window with a sliding log when they are lazy", function()
    each_case("sliding_window_log", "lazy", function(admitted, holders, where)
      local most = in_any_window(admitted)
      assert.is_true(most <= limit_of_all + (holders - 1) * largest, most .. ": " .. where)
    end)
  end)

  it("never admit more than the limit in a fixed window when they are eager", function()
    each_case("fixed_window", "eager", function(admitted, _, where)
      local most = per_window(admitted)
      assert.is_true(most <= limit_of_all, most .. ": " .. where)
      assert.is_true(most > limit_of_all / 4, most .. ": " .. where)
    end)
  end)

  it("never admit more than limit + N n in any window with a sliding log when they are eager", function()
    each_case("sliding_window_log", "eager", function(admitted, holders, where, rest)
      local most = in_any_window(admitted)
      assert.is_true(most <= limit_of_all + holders * (largest + rest), most .. ": " .. where)
    end)
  end)
end)

describe("a lazy lease of a balancer", function()
  it("is not asked for by another worker while the store is asked past it", function()
    random = function(n)
      return n - 1
    end
    local lease = { mode = "lazy", share = 0.01, most = largest, size = "static", expires = 300e3, holder = "balancer" }
    local limit, shared, admitted = begin("fixed_window", lease), memory_of_a_balancer(), {}
    for cost = 3, 1, -2 do
      start(request(worker_of(shared), { key = "k", limit = limit, cost = cost }, admitted))
    end
    run_until(now + 200e3)
    assert.are.same({ 2, 1 }, { #admitted, most_under_way })
  end)
end)
