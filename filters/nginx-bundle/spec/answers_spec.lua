local answers = require("bundle.answers")
local cjson = require("cjson")
local items = require("bundle.items")
local support = require("support")

local function answered(status, body, headers)
  return { status = status, body = body, headers = headers or { ["Content-Type"] = "application/json" } }
end

local body = [[ {"size": 3, "items" : [
  {"id":"a","status":200,"body":{"name":"A \"}]\\","n":10000000000000001,"none":[],"deep":{"x":[{"y":"]"}]}}},
  {"body": {"status":404,"title":"Not Found"}, "status": 404, "id": "b"},
  {"id": 7, "status": 200, "body": "text, with }"},{"id":"d","status":204,"body":null},{"id":"e","status":200}
] } ]]

describe("the items of a bundle's answer", function()
  local read = items.read(body)

  it("have their bodies byte for byte as they came", function()
    assert.equal([[{"name":"A \"}]\\","n":10000000000000001,"none":[],"deep":{"x":[{"y":"]"}]}}]], read.a.body)
    assert.equal('{"status":404,"title":"Not Found"}', read.b.body)
    assert.equal('"text, with }"', read["7"].body)
    assert.equal("", read.d.body)
    assert.equal("", read.e.body)
  end)

  it("have their statuses", function()
    assert.are.same({ 200, 404, 200, 204 }, { read.a.status, read.b.status, read["7"].status, read.d.status })
  end)

  it("are of an id that is there twice the first", function()
    local twice = items.read('{"items":[{"id":"a","status":200,"body":1},{"id":"a","status":500,"body":2}]}')
    assert.are.same({ a = { status = 200, body = "1" } }, twice)
  end)

  it("are left out where they are not whole", function()
    local odd = '1,null,{"id":"a"},{"id":"b","status":99},{"status":200},{"id":null,"status":200},{"id":"c","status":200.5}'
    assert.are.same({}, items.read('{"items":[' .. odd .. "]}"))
  end)

  for _, text in ipairs({
    "",
    "oops",
    "[]",
    "1",
    "null",
    "{}",
    '{"items":{}}',
    '{"items":3}',
    '{"items":[',
    '{"items":[{"id":"a"}]} x',
    '{"items":[{"id":"a","status":200,"body":NaN}]}',
    ("["):rep(3000),
  }) do
    it("are not there in " .. text:sub(1, 60), function()
      assert.is_nil(items.read(text))
    end)
  end

  it("are cut where a decoder says that they end, whatever they hold", function()
    local random = support.random(5)
    local texts = { "", "a", '"', "\\", "]", "}", "{", "[", ",", ":", "\n", "é" }
    local function value(depth)
      local kind = random(depth > 3 and 3 or 5)
      if kind == 0 then
        return random(1000) / 8
      elseif kind <= 2 then
        return texts[1 + random(#texts)] .. texts[1 + random(#texts)]
      end
      local made = {}
      for i = 1, 1 + random(4) do
        made[kind == 3 and i or "k" .. texts[1 + random(#texts)] .. i] = value(depth + 1)
      end
      return made
    end
    for _ = 1, 300 do
      local list = {}
      for i = 1, 4 do
        list[i] = { id = "id" .. i, status = 200, body = value(0) }
      end
      local found = items.read(cjson.encode({ size = 4, items = list }))
      for i = 1, 4 do
        assert.are.same(list[i].body, cjson.decode("[" .. found["id" .. i].body .. "]")[1])
      end
    end
  end)
end)

describe("of the answer to a bundle", function()
  it("each caller gets his item's status and body", function()
    local share = answers.of_bundle(answered(200, body))
    assert.are.same(
      { 404, "application/problem+json", '{"status":404,"title":"Not Found"}' },
      { share("b").status, share("b").kind, share("b").body }
    )
    assert.are.same({ 200, "application/json", '"text, with }"' }, { share("7").status, share("7").kind, share("7").body })
    assert.are.same({ 204, "" }, { share("d").status, share("d").body })
    assert.is_nil(share("d").kind)
  end)

  it("who asked for what it lacks gets a 502, and nobody else does", function()
    local share = answers.of_bundle(answered(200, body))
    assert.equal(502, share("nobody").status)
    assert.equal(502, cjson.decode(share("nobody").body).status)
    assert.equal(200, share("a").status)
  end)

  it("each gets the status and the body of a bundle that failed", function()
    local share = answers.of_bundle(answered(503, "busy", { ["Content-Type"] = "text/plain", ["Retry-After"] = "3" }))
    assert.are.same(
      { 503, "text/plain", "busy", { ["Retry-After"] = "3" } },
      { share("a").status, share("a").kind, share("a").body, share("a").headers }
    )
  end)

  it("each gets his own item where a bundle that failed tells of each", function()
    local told = '{"items":[{"id":"a","status":503,"body":{}},{"id":"b","status":504,"body":{}}]}'
    local share = answers.of_bundle(answered(503, told))
    assert.are.same({ 503, 504, 503 }, { share("a").status, share("b").status, share("c").status })
  end)

  it("each gets a 502 where it isn't a bundle's answer, or not whole", function()
    assert.equal(502, answers.of_bundle(answered(200, "hello"))("a").status)
    local cut = answered(200, body)
    cut.truncated = true
    assert.equal(502, answers.of_bundle(cut)("a").status)
  end)

  it("headers go to each that are not of the bundle's own body or connection, and cookies to nobody", function()
    local headers = {
      ["Content-Type"] = "application/json",
      ["Content-Length"] = "9",
      ETag = '"x"',
      Connection = "close",
      ["Set-Cookie"] = "a=b",
      ["Cache-Control"] = "no-store",
      ["X-Trace"] = "7",
    }
    local share = answers.of_bundle(answered(200, body, headers))
    assert.are.same({ ["Cache-Control"] = "no-store", ["X-Trace"] = "7" }, share("a").headers)
  end)
end)

describe("of the answer to one thing that several asked for", function()
  it("each gets all of it", function()
    local share = answers.of_one(answered(404, "no", { ["Content-Type"] = "text/plain" }))
    assert.are.same({ 404, "text/plain", "no" }, { share("a").status, share("a").kind, share("a").body })
  end)

  it("each gets a 502 where it was cut off", function()
    local cut = answered(200, "par")
    cut.truncated = true
    assert.equal(502, answers.of_one(cut)("a").status)
  end)

  it("each gets the status of what did not come at all", function()
    local late = { status = 504, body = "", headers = {}, truncated = true }
    for _, share in ipairs({ answers.of_one(late), answers.of_bundle(late) }) do
      assert.equal(504, share("a").status)
      assert.equal("Gateway Timeout", cjson.decode(share("a").body).title)
    end
  end)
end)
