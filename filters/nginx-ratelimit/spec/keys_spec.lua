_G.ngx = _G.ngx or {}
local arguments = require("ratelimit.arguments")
local cjson = require("cjson")
local crypto = require("ratelimit.wire.crypto")
local tokens = require("ratelimit.tokens")

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- The parts of `text`, each of `width` digits of base 2, by `written` from the digits' value.
local function regrouped(digits, width, written)
  return (digits:gsub(("."):rep(width), function(part)
    return written(tonumber(part, 2))
  end))
end

local function binary(value, width)
  local digits = ""
  for place = width - 1, 0, -1 do
    digits = digits .. math.floor(value / 2 ^ place) % 2
  end
  return digits
end

local function base64url(text)
  local digits = text:gsub(".", function(character)
    return binary(character:byte(), 8)
  end)
  digits = digits .. ("0"):rep(-#digits % 6)
  local base64 = regrouped(digits, 6, function(value)
    return alphabet:sub(value + 1, value + 1)
  end)
  return (base64:gsub("+", "-"):gsub("/", "_"))
end

-- What nginx brings: nil for what is not Base64.
_G.ngx.decode_base64 = function(text)
  local digits = text:gsub("=*$", ""):gsub(".", function(character)
    local place = alphabet:find(character, 1, true)
    return place and binary(place - 1, 6) or "x"
  end)
  if digits:find("x") then
    return nil
  end
  return regrouped(digits:sub(1, #digits - #digits % 8), 8, string.char)
end

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
      "token=a&token=real",
      "token=a&%74oken=real",
      "token=&token=real",
      "token=a;token=real",
      "x=1;token=real",
      "token=a&token[]=real",
      "token[0]=real",
      "token=a& token=real",
      "token=a&token%00x=real",
    }) do
      assert.is_true(unclear(query(text)), text)
    end
    assert.is_true(unclear(arguments.pick(arguments.query("api_key=a&api.key=real", "api_key"), "reject")))
  end)

  it("is clear when it is said twice alike, and when others hold what is odd", function()
    assert.equal("real", query("token=real&token=real"))
    assert.equal("real", query("filter[a]=1&q=x;y&token=real"))
  end)

  it("is the one that the rules name when servers take the first or the last", function()
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
      { "session=a; session=real" },
      { "session=a", "session=real" },
      { "a=1, session=real" },
      { 'session="\\162eal"' },
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

  local function signed(header, claims, secret)
    local body = base64url(header) .. "." .. base64url(claims)
    return body .. "." .. base64url(crypto.hmac_sha256(secret, body))
  end

  local from = { claim = "sub", secret = "s3cret" }
  local good = signed('{"alg":"HS256"}', '{"sub":"ann"}', "s3cret")

  it("that is signed with the secret tells its claim", function()
    assert.equal("ann", tokens.claim(good, from, 0))
    -- RFC 7515, appendix A.1: base64url without padding.
    assert.equal("eyJhbGciOiJIUzI1NiJ9", good:match("^[^.]+"))
  end)

  it("whose signature is wrong, missing, cut or of another body tells nothing", function()
    local other = signed('{"alg":"HS256"}', '{"sub":"bob"}', "s3cret")
    local head, _, signature = good:match("^(.-)%.(.-)%.(.-)$")
    for _, bad in ipairs({
      signed('{"alg":"HS256"}', '{"sub":"ann"}', "another"),
      head .. "." .. other:match("%.(.-)%.") .. "." .. signature,
      good:match("^(.*%.)"),
      good:sub(1, -2),
      good:match("^(.*)%."),
      "",
    }) do
      assert.is_nil(tokens.claim(bad, from, 0), bad)
    end
  end)

  it("signed by another algorithm, or with an extension that is not known, tells nothing", function()
    for _, header in ipairs({
      '{"alg":"none"}',
      '{"alg":"HS512"}',
      '{"alg":"hs256"}',
      "{}",
      '{"alg":"HS256","crit":["exp"]}',
      "x",
    }) do
      assert.is_nil(tokens.claim(signed(header, '{"sub":"ann"}', "s3cret"), from, 0), header)
    end
  end)

  it("that nginx has verified needs no signature of ours", function()
    local unsigned = signed('{"alg":"RS256"}', '{"sub":"ann"}', "whatever")
    assert.is_nil(tokens.claim(unsigned, from, 0))
    assert.equal("ann", tokens.claim(unsigned, { claim = "sub", verified = true }, 0))
  end)

  it("that is signed but has expired, or not begun, tells nothing", function()
    local late = signed('{"alg":"HS256"}', '{"sub":"ann","exp":100}', "s3cret")
    assert.equal("ann", tokens.claim(late, from, 99))
    assert.is_nil(tokens.claim(late, from, 100))
    assert.is_nil(tokens.claim(signed('{"alg":"HS256"}', '{"sub":"ann","nbf":100}', "s3cret"), from, 99))
  end)

  it("holds before it expires and not before it begins, which only numbers can say", function()
    local now = 1700000000
    for _, claims in ipairs({ {}, { exp = now + 1 }, { nbf = now }, { exp = now + 1, nbf = now - 1 } }) do
      assert.is_true(tokens.holds(claims, now, 0))
    end
    for _, claims in ipairs({
      { exp = now },
      { exp = tostring(now + 60) },
      { exp = "never" },
      { exp = cjson.null },
      { exp = true },
      { exp = {} },
      { exp = 0 / 0 },
      { nbf = now + 1 },
      { nbf = tostring(now - 60) },
      { nbf = cjson.null },
      { nbf = 0 / 0 },
    }) do
      assert.is_false(tokens.holds(claims, now, 0))
    end
  end)
end)
