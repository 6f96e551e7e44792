_G.ngx = _G.ngx or {}
local arguments = require("ratelimit.arguments")
local cjson = require("cjson")
local tokens = require("ratelimit.tokens")

local function query(text, rule, ignore_case)
  return arguments.pick(arguments.query(text, "token", ignore_case), rule or "reject")
end

local function cookie(...)
  return arguments.pick(arguments.cookie({ ... }, "session"), "reject")
end

-- A value that can't be told: nil and true.
local function unclear(value, is_unclear)
  return value == nil and is_unclear == true
end

describe("the key in a query string", function()
  it("is the value of the name as it is written, decoded", function()
    assert.equal("real", query("token=real"))
    assert.equal("real", query("a=1&token=real&b=2"))
    assert.equal("real", query("TOKEN=a&token=real"))
    assert.equal("real", query("%74oken=%72eal"))
    assert.equal("a b&c", query("token=a+b%26c"))
    assert.equal("100%", query("token=100%"))
    assert.equal("", query("token"))
    assert.is_nil((query("")))
    assert.is_nil((query("tokens=a&atoken=b&x=token=c")))
  end)

  it("is not clear when servers could read two", function()
    for _, text in ipairs({
      "token=a&token=real", "token=a&%74oken=real", "token=&token=real", "token=a;token=real", "x=1;token=real",
      "token=a&token[]=real", "token[0]=real", "token=a& token=real", "token=a&token%00x=real",
    }) do
      assert.is_true(unclear(query(text)), text)
    end
    assert.is_true(unclear(arguments.pick(arguments.query("api_key=a&api.key=real", "api_key"), "reject")))
  end)

  it("is clear when it is said twice alike, and when others hold what is odd", function()
    assert.equal("real", query("token=real&token=real"))
    assert.equal("real", query("filter[a]=1&q=x;y&token=real"))
  end)

  it("is the one that the plan names when servers take the first or the last", function()
    assert.equal("a", query("token=a&token=real", "first"))
    assert.equal("real", query("token=a&token=real", "last"))
    assert.is_nil((query("token[]=real", "first")))
  end)

  it("has a name in any case where servers read it so", function()
    assert.equal("real", query("ToKeN=real", "reject", true))
    assert.is_true(unclear(query("TOKEN=a&token=real", "reject", true)))
  end)
end)

describe("the key in a cookie", function()
  it("is decoded and without its quotes", function()
    assert.equal("real", cookie("a=1; session=real; b=2"))
    assert.equal("real", cookie('session="real"'))
    assert.equal("real", cookie("session=%72eal"))
    assert.equal("real", cookie("a=1", "session=real"))
    assert.equal("real", cookie("SESSION=a; session=real"))
    assert.is_nil((cookie("a=1; b=session=x")))
  end)

  it("is not clear when servers could read two", function()
    for _, headers in ipairs({
      { "session=a; session=real" }, { "session=a", "session=real" }, { "a=1, session=real" }, { 'session="\\162eal"' },
    }) do
      assert.is_true(unclear(cookie(unpack(headers))), headers[1])
    end
  end)
end)

describe("a token", function()
  it("keeps every digit of its numbers, and every character of its texts", function()
    local json = [[{"a":1234567890123456789,"b":-1234567890123456789,"c":12,"e":[1.5],]]
      .. [["d":"1234567890123456789 \" 1234567890123456789"}]]
    local claims = cjson.decode(tokens.keep_digits(json))
    assert.equal("1234567890123456789", claims.a)
    assert.equal("-1234567890123456789", claims.b)
    assert.equal(12, claims.c)
    assert.equal('1234567890123456789 " 1234567890123456789', claims.d)
    assert.equal(1.5, claims.e[1])
    for _, broken in ipairs({ "", '"', '"\\', '{"a', "1234567890123456789012" }) do
      assert.is_string(tokens.keep_digits(broken))
    end
  end)

  it("holds before it expires and not before it begins, which only numbers can say", function()
    local now = 1700000000
    for _, claims in ipairs({ {}, { exp = now + 1 }, { nbf = now }, { exp = now + 1, nbf = now - 1 } }) do
      assert.is_true(tokens.holds(claims, now))
    end
    for _, claims in ipairs({
      { exp = now }, { exp = tostring(now + 60) }, { exp = "never" }, { exp = cjson.null }, { exp = true }, { exp = {} },
      { exp = 0 / 0 }, { nbf = now + 1 }, { nbf = tostring(now - 60) }, { nbf = cjson.null }, { nbf = 0 / 0 },
    }) do
      assert.is_false(tokens.holds(claims, now))
    end
  end)
end)
