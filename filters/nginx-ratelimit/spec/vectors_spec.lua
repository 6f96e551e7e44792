local cjson = require("cjson")
local cores = require("ratelimit.core")

local folder = "../../contracts/ratelimit/vectors/"

local function read(algorithm)
  local file = assert(io.open(folder .. algorithm .. ".json"))
  local text = file:read("*a")
  file:close()
  return cjson.decode(text)
end

local function fresh(core, rule)
  local state = {}
  for i = 1, core.size(rule) do
    state[i] = 0
  end
  return state
end

describe("the shared vectors", function()
  for _, algorithm in ipairs(cores.names) do
    for _, case in ipairs(read(algorithm).cases) do
      local rule = case.plan
      it(
        ("%s decides %s (limit %d, burst %d, %d sub-windows) like the definition"):format(
          algorithm,
          case.name,
          rule.limit,
          rule.burst,
          rule.sub_windows
        ),
        function()
          local core = cores[algorithm]
          local state = fresh(core, rule)
          for i, request in ipairs(case.requests) do
            local answer = { core.decide(state, request[1], rule, request[2]) }
            assert.are.same(case.answers[i], answer, "request " .. i)
          end
        end
      )
    end
  end
end)

describe("the published pseudocode", function()
  local function admitted(list)
    local count = 0
    for _, each in ipairs(list) do
      count = count + (each and 1 or 0)
    end
    return count
  end

  local function ours_of(case)
    local ours = {}
    for i, answer in ipairs(case.answers) do
      ours[i] = answer[1]
    end
    return ours
  end

  local function burst_of(algorithm)
    local case = read(algorithm).cases[1]
    return admitted(ours_of(case)), admitted(case.paper), case.plan
  end

  it("admits burst + 1 with GCRA, where this core admits burst", function()
    local ours, paper, rule = burst_of("gcra")
    assert.equal(rule.burst, ours)
    assert.equal(rule.burst + 1, paper)
  end)

  it("admits capacity + 1 with the leaky bucket, unless all come at one instant", function()
    local together, spread = read("leaky_bucket").cases[1], read("leaky_bucket").cases[2]
    assert.equal("a burst at one instant", together.name)
    assert.equal("a burst of a request each microsecond", spread.name)
    assert.equal(together.plan.burst, admitted(together.paper))
    assert.equal(spread.plan.burst + 1, admitted(spread.paper))
    for _, case in ipairs({ together, spread }) do
      assert.equal(case.plan.burst, admitted(ours_of(case)))
    end
  end)

  -- The first request that a case decides otherwise, and whether something was admitted exactly one window before it.
  local function first_difference(case)
    local admitted_at = {}
    for i, expected in ipairs(case.paper or {}) do
      local at, allowed = case.requests[i][1], case.answers[i][1]
      if expected ~= allowed then
        return i, admitted_at[at - case.plan.window]
      end
      admitted_at[at] = allowed
    end
  end

  it("still counts what is exactly one window old in the sliding log, and first differs there", function()
    local different = 0
    for _, case in ipairs(read("sliding_window_log").cases) do
      local first, is_edge = first_difference(case)
      assert.equal(first ~= nil, is_edge == true, case.name)
      different = different + (first and 1 or 0)
    end
    assert.is_true(different > 0)
  end)

  for _, algorithm in ipairs({ "fixed_window", "token_bucket" }) do
    it("agrees with this core in every vector of " .. algorithm, function()
      local compared = 0
      for _, case in ipairs(read(algorithm).cases) do
        for i, expected in ipairs(case.paper or {}) do
          assert.equal(expected, case.answers[i][1], case.name .. ", request " .. i)
          compared = compared + 1
        end
      end
      assert.is_true(compared > 100)
    end)
  end

  it("exceeds the limit by a fraction with the sliding window counter, and never admits less than this core", function()
    local all_ours, all_papers = 0, 0
    for _, case in ipairs(read("sliding_window_counter").cases) do
      if case.paper then
        local ours = ours_of(case)
        assert.is_true(admitted(case.paper) >= admitted(ours))
        all_ours, all_papers = all_ours + admitted(ours), all_papers + admitted(case.paper)
      end
    end
    assert.is_true(all_papers > 1.02 * all_ours and all_papers < 1.2 * all_ours)
  end)
end)
