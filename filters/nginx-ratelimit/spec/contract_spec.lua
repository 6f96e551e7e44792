-- What the filter assumes and refuses is what its contract says, from which others read it.

local cjson = require("cjson")
local cores = require("ratelimit.core")
local rules = require("ratelimit.rules")

local file = assert(io.open("../../contracts/ratelimit/plan.schema.json"))
local contract = cjson.decode(file:read("*a"))["$defs"].limit
file:close()

local function parsed(changes)
  local limit = { name = "l", key = { from = "address" }, algorithm = "fixed_window", limit = 9, window = "1s" }
  for key, value in pairs(changes) do
    limit[key] = value
  end
  return rules.parse(cjson.encode({ version = 1, limits = { limit } }))
end

-- The algorithms whose limits have no such field.
local function without(field)
  local found = {}
  for _, rule in ipairs(contract.allOf) do
    if rule["then"].properties[field] == false then
      for _, name in ipairs(rule["if"].properties.algorithm.enum) do
        found[name] = true
      end
    end
  end
  return found
end

describe("the contract", function()
  it("names the algorithms in the filter's order", function()
    assert.are.same(contract.properties.algorithm.enum, cores.names)
  end)

  it("says which algorithms can be leased", function()
    local refused = without("lease")
    for _, name in ipairs(cores.names) do
      assert.equal(not refused[name], cores[name].leasable, name)
      assert.equal(not refused[name], parsed({ algorithm = name, lease = { mode = "lazy" } }) ~= nil, name)
    end
  end)

  it("says which algorithms have a burst", function()
    local refused = without("burst")
    for _, name in ipairs(cores.names) do
      assert.equal(not refused[name], parsed({ algorithm = name, burst = 2 }) ~= nil, name)
    end
  end)

  it("says what is assumed of a lease and of sub-windows", function()
    local limit = parsed({ algorithm = "sliding_window_counter", lease = { mode = "lazy" } }).limits[1]
    local lease = contract.properties.lease.properties
    assert.equal(contract.properties.sub_windows.default, limit.sub_windows)
    assert.equal(lease.share.default, limit.lease.share)
    assert.equal(lease.most.default, limit.lease.most)
    assert.equal(lease.size.default, limit.lease.size)
    assert.equal(lease.holder.default, limit.lease.holder)
    assert.equal(tonumber(lease.expires.default:match("^(%d+)s$")) * 1e6, limit.lease.expires)
  end)

  it("says how long a lease may hold", function()
    assert.equal("10ms to 1m", contract.properties.lease.properties.expires.description)
    for length, taken in pairs({ ["9ms"] = false, ["10ms"] = true, ["1m"] = true, ["61s"] = false }) do
      assert.equal(taken, parsed({ lease = { mode = "lazy", expires = length } }) ~= nil, length)
    end
  end)
end)
