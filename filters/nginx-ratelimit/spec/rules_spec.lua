local cjson = require("cjson")
local keys = require("ratelimit.keys")
local rules = require("ratelimit.rules")
local shape = require("ratelimit.shape")

local function read(name)
  local file, err = io.open(name)
  if not file then
    return nil, err
  end
  local text = file:read("*a")
  file:close()
  return text
end

local vectors = cjson.decode((read("../../contracts/ratelimit/vectors/plans.json")))

local function changed(case)
  local value = cjson.decode(cjson.encode(vectors.base))
  for key, each in pairs(case.change or {}) do
    value[key] = each ~= cjson.null and each or nil
  end
  for key, each in pairs(case.limit or {}) do
    value.limits[1][key] = each
  end
  local text = cjson.encode(value)
  return (text:gsub('"limits":{}', '"limits":[]'):gsub('"limit":{}', '"limit":[]'))
end

describe("rules", function()
  for _, case in ipairs(vectors.good) do
    it("is taken with " .. case.name, function()
      local parsed, problems = rules.parse(changed(case), read)
      assert.is_truthy(parsed, problems and shape.describe(problems))
    end)
  end

  for _, list in ipairs({ vectors.bad, vectors.bad_beyond_the_schema }) do
    for _, case in ipairs(list) do
      it("is refused with " .. case.name .. ", naming the place", function()
        local parsed, problems = rules.parse(changed(case), read)
        assert.is_nil(parsed)
        assert.equal(case.path, problems[1].path)
      end)
    end
  end

  it("is refused in the words of spec/refusals.txt, which UPDATE_GOLDEN=1 writes anew for a person to read", function()
    local said = {}
    for _, list in ipairs({ vectors.bad, vectors.bad_beyond_the_schema }) do
      for _, case in ipairs(list) do
        local _, problems = rules.parse(changed(case), read)
        said[#said + 1] = case.name .. "\n  " .. shape.describe(problems):gsub("\n", "\n  ")
      end
    end
    local text = table.concat(said, "\n") .. "\n"
    if os.getenv("UPDATE_GOLDEN") then
      local file = assert(io.open("spec/refusals.txt", "w"))
      file:write(text)
      file:close()
    end
    assert.equal(read("spec/refusals.txt"), text)
  end)

  it("lists all problems at once", function()
    local _, problems = rules.parse(changed({ limit = { limit = -1, window = "x", algorithm = "y" } }), read)
    assert.equal(3, #problems)
  end)

  it("says line and column of what is not JSON", function()
    local _, problems = rules.parse('{\n  "version": 1,\n  oops\n}', read)
    assert.is_truthy(problems[1].message:find("line 3, column 3", 1, true), problems[1].message)
  end)

  it("survives values of every kind in every place", function()
    local values = { 1, -1, 0.5, "", "x", true, cjson.null, {}, { 1 }, { a = 1 }, ("x"):rep(1000) }
    local function each_place(value, path, visit)
      for key, inner in pairs(value) do
        visit(value, key)
        if type(inner) == "table" then
          each_place(inner, path .. "." .. key, visit)
        end
      end
    end
    local text = read("examples/plan.json")
    each_place(cjson.decode(text), "", function(_, key)
      for _, value in ipairs(values) do
        local copy = cjson.decode(text)
        each_place(copy, "", function(holder, name)
          if name == key then
            holder[name] = value
          end
        end)
        local parsed, problems = rules.parse(cjson.encode(copy), read)
        assert.is_true(parsed ~= nil or #shape.describe(problems) > 0)
      end
    end)
  end)

  it("gives a tier without a burst its own limit as burst, never the base's", function()
    local tiers = { plain = { limit = 50 }, own = { limit = 50, burst = 7, window = "2s" } }
    local parsed = rules.parse(changed({ limit = { limit = 100, burst = 3, tiers = tiers } }), read)
    local by_tier = parsed.limits[1].by_tier
    assert.equal(3, parsed.limits[1].burst)
    assert.are.same({ 50, 1e6 }, { by_tier.plain.burst, by_tier.plain.window })
    assert.are.same({ 7, 2e6 }, { by_tier.own.burst, by_tier.own.window })
    assert.equal(50, by_tier.plain.localized.burst)
  end)

  it("has lists of addresses in the spelling of the keys, whichever source has these", function()
    for _, from in ipairs({ { from = "address" }, { from = "variable", name = "remote_addr" } }) do
      local parsed = rules.parse(changed({ limit = { key = from, deny = { "2001:DB8::9", "::ffff:192.0.2.1" } } }), read)
      assert.are.same({ ["2001:db8:0:0::/64"] = true, ["192.0.2.1"] = true }, parsed.limits[1].deny)
    end
  end)

  it("with a limit of any name has keys that fit into MariaDB, and no two limits share one", function()
    local stem, longest = ("n"):rep(300), keys.client("no-key", ("k"):rep(64))
    local seen = {}
    for _, name in ipairs({ "n", ("n"):rep(64), ("n"):rep(65), stem .. "a", stem .. "b" }) do
      local parsed = rules.parse(
        changed({
          limit = {
            name = name,
            algorithm = "sliding_window_counter",
            limit = 1e9,
            window = "1d",
            sub_windows = 60,
          },
        }),
        read
      )
      local key = keys.storage(parsed.limits[1], longest)
      assert.is_true(#key <= 200, #key .. " bytes")
      assert.is_nil(seen[key], name)
      seen[key] = true
    end
    assert.is_truthy(next(seen))
  end)

  it("is the example's", function()
    local parsed, problems = rules.parse(read("examples/plan.json"), read)
    assert.is_truthy(parsed, problems and shape.describe(problems))
    assert.equal(1000, parsed.limits[1].by_tier.gold.limit)
    assert.equal(50, parsed.limits[1].localized.limit)
    assert.equal(50000, parsed.stores.shared.timeout)
  end)
end)
