local cjson = require("cjson")
local rules = require("bundle.rules")
local support = require("support")

local schema = cjson.decode(support.read("../../contracts/bundle/rules.schema.json"))
local whole = '{"version":1,"change":"4","routes":[{"single":"/a/{id}","bundle":"/a/{ids}","size":20,"wait":"5ms"}]}'

local function problems(from, to)
  local text, count = whole:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
  assert.equal(1, count)
  local parsed, list = rules.parse(text)
  assert.is_nil(parsed)
  return list
end

describe("a file of rules", function()
  it("has durations in seconds, and what is not said as the contract says", function()
    local parsed = rules.parse(whole)
    assert.are.same(
      { "4", 60, 1000, 20, 0.005 },
      { parsed.change, parsed.timeout, parsed.most_waiting, parsed.routes[1].size, parsed.routes[1].wait }
    )
    assert.equal(schema.properties.timeout.default, parsed.timeout .. "s")
    assert.equal(schema.properties.most_waiting.default, parsed.most_waiting)
    assert.are.same(schema["$defs"].route.properties.per.default, parsed.routes[1].per)
  end)

  it("of the examples is taken", function()
    local parsed, list = rules.parse(support.read("examples/rules.json"))
    assert.is_truthy(parsed, list and list[1])
    assert.are.same({
      "authorization",
      "cookie",
      "host",
      "$host",
      "accept",
      "accept-charset",
      "accept-language",
      "origin",
      "forwarded",
      "x-forwarded-for",
      "x-forwarded-host",
      "x-forwarded-port",
      "x-forwarded-prefix",
      "x-forwarded-proto",
      "x-forwarded-ssl",
      "x-real-ip",
      "x-api-key",
    }, parsed.routes[1].headers)
  end)

  it("may name variables of nginx", function()
    local text = whole:gsub('"wait":"5ms"', '"wait":"5ms","per":["$ssl_client_s_dn","X-Tenant"]')
    local headers = rules.parse(text).routes[1].headers
    assert.are.same({ "$ssl_client_s_dn", "x-tenant" }, { headers[#headers - 1], headers[#headers] })
  end)

  for _, case in ipairs({
    { '"version":1', '"version":2', "version: must be" },
    { '"change":"4"', '"chance":"4"', "chance: must be left out; allowed: version, change, routes, timeout, most_waiting" },
    { '"/a/{id}"', '"/a/b"', "routes[0].single: must be a path from / on, with {id} in it once" },
    { '"/a/{id}"', '"a/{id}"', "routes[0].single" },
    { '"/a/{id}"', '"/a/{id}?x=1"', "routes[0].single" },
    { '"/a/{ids}"', '"/{ids}/{ids}"', "routes[0].bundle" },
    { '"size":20', '"size":1', "routes[0].size: must be a whole number from 2 to 1000" },
    { '"size":20', '"size":"20"', "routes[0].size" },
    { '"wait":"5ms"', '"wait":"5"', 'routes[0].wait: must be a duration from "1ms" to "10s", such as "5ms"' },
    { '"wait":"5ms"', '"wait":"0ms"', "routes[0].wait" },
    { '"wait":"5ms"', '"wait":"11s"', "routes[0].wait" },
    { '"wait":"5ms"', '"wait":"5ms","per":[]', "routes[0].per: must be a list of headers" },
    { '"wait":"5ms"', '"wait":"5ms","per":["a b"]', "routes[0].per" },
    { '"wait":"5ms"', '"wait":"5ms","per":["$"]', "routes[0].per" },
    { '"wait":"5ms"', '"wait":"5ms","per":["a$b"]', "routes[0].per" },
    { '"wait":"5ms"', '"wait":"5ms","par":[]', "routes[0].par: must be left out; allowed: single, bundle, size, wait, per" },
  }) do
    it("is refused with " .. case[2] .. " instead of " .. case[1], function()
      assert.equal(case[3], problems(case[1], case[2])[1]:sub(1, #case[3]))
    end)
  end

  it("lists all problems at once", function()
    local routes = '[{"single":"x","bundle":"y","size":0,"wait":"z"}]'
    local _, list = rules.parse('{"version":0,"routes":' .. routes .. ',"timeout":1,"most_waiting":0}')
    assert.equal(7, #list)
  end)

  local nothing = { "", "oops", "[]", "1", "null", '{"version":1}', '{"version":1,"routes":[]}', '{"version":1,"routes":[3]}' }
  for _, text in ipairs(nothing) do
    it("is refused and never an error: " .. text, function()
      local parsed, list = rules.parse(text)
      assert.is_nil(parsed)
      assert.is_true(#list > 0)
    end)
  end
end)
