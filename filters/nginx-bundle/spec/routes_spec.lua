local identity = require("bundle.identity")
local rules = require("bundle.rules")
local routes = require("bundle.routes")
local support = require("support")

local list = rules.parse(support.read("examples/rules.json")).routes

local function matched(uri, headers, method)
  local route, id = routes.match(list, method or "GET", uri, headers or {})
  return route and { route.single, id }
end

describe("a request", function()
  it("is bundled by its path", function()
    assert.are.same({ "/customers/{id}", "c000000001" }, matched("/customers/c000000001"))
    assert.are.same({ "/stock/{id}/level", "a-1.b~2_c" }, matched("/stock/a-1.b~2_c/level"))
  end)

  for _, uri in ipairs({
    "/customers/",
    "/customers/a/address",
    "/customers/a,b",
    "/customers/a%2Cb",
    "/customers/a;v=1",
    "/customers/..",
    "/customers/.",
    "/customers/a?expand=policies",
    "/customers/a?",
    "//customers/a",
    "/stock//level",
    "/stock/level",
    "/",
  }) do
    it("goes through as it is with the path " .. uri, function()
      assert.is_nil(matched(uri))
    end)
  end

  for _, name in ipairs({ "if-none-match", "range", "content-length", "transfer-encoding", "upgrade" }) do
    it("goes through as it is with the header " .. name, function()
      assert.is_nil(matched("/customers/a", { [name] = "x" }))
    end)
  end

  for _, method in ipairs({ "HEAD", "PUT", "DELETE", "POST" }) do
    it("goes through as it is with the method " .. method, function()
      assert.is_nil(matched("/customers/a", {}, method))
    end)
  end
end)

describe("the path of a bundle", function()
  it("has the ids between commas, whatever else stands in it", function()
    assert.equal("/customers/a,b,c", routes.bundled(list[1], { "a", "b", "c" }))
    assert.equal("/stock/levels?of=a,b", routes.bundled(list[2], { "a", "b" }))
  end)
end)

describe("callers", function()
  local function key(headers, route)
    return identity.key(route or list[1], headers, {})
  end

  it("are the same where everything is equal that decides an answer", function()
    local one = { authorization = "Bearer a", accept = "*/*", ["x-request-id"] = "1" }
    local other = { authorization = "Bearer a", accept = "*/*", ["x-request-id"] = "2" }
    assert.equal(key(one), key(other))
  end)

  for _, name in ipairs({
    "authorization",
    "cookie",
    "host",
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
  }) do
    it("differ by " .. name, function()
      assert.not_equal(key({ [name] = "a" }), key({ [name] = "b" }))
      assert.not_equal(key({ [name] = "a" }), key({}))
      assert.not_equal(key({ [name] = "" }), key({}))
      assert.not_equal(key({ [name] = { "a", "b" } }), key({ [name] = { "b", "a" } }))
      assert.not_equal(key({ [name] = { "a", "b" } }), key({ [name] = "a" }))
    end)
  end

  it("differ by the variables that nginx sends in headers of its own", function()
    local function of(address, route, sent)
      return identity.key(route, {}, { remote_addr = address }, sent)
    end
    local sent = { "$remote_addr" }
    assert.not_equal(of("10.0.0.1", list[1], sent), of("10.0.0.2", list[1], sent))
    assert.equal(of("10.0.0.1", list[1], sent), of("10.0.0.1", list[1], sent))
    local named = { bundle = "/a/{ids}", headers = identity.headers({ "$remote_addr" }) }
    assert.not_equal(of("10.0.0.1", named), of("10.0.0.2", named))
  end)

  it("differ by the host that the target names next to the header", function()
    local function of(host)
      return identity.key(list[1], { host = "shop.example" }, { host = host })
    end
    assert.not_equal(of("shop.example"), of("other.example"))
  end)

  it("differ by what they ask for", function()
    assert.not_equal(key({ authorization = "a" }), key({ authorization = "a" }, list[2]))
  end)

  it("cannot make another's key of headers that hold parts of one", function()
    local random, keys = support.random(11), {}
    for _ = 1, 3000 do
      local function text()
        return (("1:*-a"):rep(2)):sub(1 + random(5), 5 + random(6))
      end
      local headers = { authorization = text(), cookie = text(), ["x-api-key"] = random(2) == 0 and text() or { text(), text() } }
      local told = table.concat({
        headers.authorization,
        headers.cookie,
        type(headers["x-api-key"]) == "table" and table.concat(headers["x-api-key"], "\1") or headers["x-api-key"],
      }, "\0")
      local made = key(headers)
      assert.is_true(keys[made] == nil or keys[made] == told)
      keys[made] = told
    end
  end)
end)
