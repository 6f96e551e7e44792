-- The decision log in a folder that comes, goes and fills.

local errors, exiting

_G.ngx = {
  ERR = 1,
  log = function(_, ...)
    errors[#errors + 1] = table.concat({ ... })
  end,
  worker = {
    id = function()
      return 0
    end,
    pid = function()
      return 7
    end,
    exiting = function()
      return exiting
    end,
  },
}

local outcome = {
  time = 1,
  client = "c",
  limit = { name = "l", algorithm = "gcra" },
  cost = 1,
  allowed = true,
  remaining = 1,
  by = "store",
}

-- Its own log in a folder that is not there yet.
local function fresh()
  package.loaded["ratelimit.decisions"], errors, exiting = nil, {}, false
  local folder = os.tmpname()
  os.remove(folder)
  return require("ratelimit.decisions"), { balancer = "b", decision_log = { folder = folder, rows = "all" } }, folder
end

local function make(folder)
  assert(os.execute("mkdir " .. folder))
end

-- How many lines the log has but for its heading; removes it.
local function lines(folder)
  local count = -1
  for _ in io.lines(folder .. "/decisions-b-7.tsv") do
    count = count + 1
  end
  os.execute("rm -r " .. folder)
  return count
end

describe("the decision log", function()
  it("keeps its lines until its folder is there, and complains once", function()
    local decisions, rules, folder = fresh()
    for _ = 1, 3 do
      decisions.add(rules, outcome)
      decisions.flush(rules)
    end
    assert.equal(1, #errors)
    make(folder)
    decisions.flush(rules)
    assert.equal(3, lines(folder))
    assert.equal(1, #errors)
  end)

  it("goes on in another folder when the rules name one, and waits for that one, too", function()
    local decisions, rules, folder = fresh()
    make(folder)
    decisions.add(rules, outcome)
    decisions.flush(rules)
    local other = os.tmpname()
    os.remove(other)
    rules.decision_log.folder = other
    for _ = 1, 2 do
      decisions.add(rules, outcome)
      decisions.flush(rules)
    end
    make(other)
    decisions.flush(rules)
    assert.equal(1, lines(folder))
    assert.equal(2, lines(other))
  end)

  it("loses what is beyond its bound, and says how many lines", function()
    local decisions, rules, folder = fresh()
    for _ = 1, 16384 + 5 do
      decisions.add(rules, outcome)
    end
    make(folder)
    decisions.flush(rules)
    assert.equal(16384, lines(folder))
    assert.is_truthy(errors[#errors]:find("lacks 5 lines", 1, true))
  end)

  it("writes at once what is decided while the worker ends", function()
    local decisions, rules, folder = fresh()
    make(folder)
    decisions.add(rules, outcome)
    decisions.flush(rules)
    exiting = true
    decisions.add(rules, outcome)
    assert.equal(2, lines(folder))
  end)
end)
