local counts = require("bundle.counts")
local json = require("cjson.safe")
local support = require("support")

-- Shared memory of a nginx with two workers, of which the first has rules in force.
local function nginx()
  local held = {}
  _G.ngx = {
    shared = {
      bundle_counts = {
        incr = function(_, name, by, from)
          held[name] = (held[name] or from) + by
        end,
        set = function(_, name, value)
          held[name] = value
        end,
        get = function(_, name)
          return held[name]
        end,
      },
    },
    worker = {
      id = function()
        return 0
      end,
      count = function()
        return 2
      end,
    },
  }
end

-- The names of all that the filter counts, as they stand in its text.
local function counted()
  local names = {}
  for name in support.read("lua/bundle/init.lua"):gmatch('counts%.add%("([%w_]+)"') do
    names[#names + 1] = name
  end
  return names
end

describe("the page of counts", function()
  before_each(nginx)

  it("has each number that the filter counts", function()
    local names = counted()
    assert.is_true(#names > 8)
    for place, name in ipairs(names) do
      nginx()
      counts.add(name, place)
      assert.equal(place, json.decode(counts.page())[name], name)
    end
  end)

  it("says 0 of what has not happened yet", function()
    local page = json.decode(counts.page())
    for _, name in ipairs(counted()) do
      assert.equal(0, page[name], name)
    end
  end)

  it("adds up, by one where nothing else is said", function()
    counts.add("bundled", 7)
    counts.add("bundled")
    assert.equal(8, json.decode(counts.page()).bundled)
  end)

  it("says which rules each worker has in force, and nothing of one that has not begun", function()
    counts.in_force("2")
    assert.are.same({ "2", "" }, json.decode(counts.page()).changes)
  end)
end)
