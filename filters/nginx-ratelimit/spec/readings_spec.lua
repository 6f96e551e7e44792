-- What a request says, in every spelling that a server takes: paths, header values, addresses, arguments, tokens, durations.

_G.ngx = _G.ngx or {}
local addresses = require("ratelimit.addresses")
local arguments = require("ratelimit.arguments")
local fields = require("ratelimit.fields")
local paths = require("ratelimit.paths")
local shape = require("ratelimit.shape")
local tokens = require("ratelimit.tokens")

local everywhere = paths.differences(paths.names)

local function is_login(target, routed, differences, ignore_case)
  return paths.is_under(routed, paths.others(routed, target, differences or everywhere), "/login", ignore_case ~= false)
end

describe("a path under a limit", function()
  for target, routed in pairs({
    ["/x/..;/login"] = "/x/..;/login",
    ["/x/..;a=b/login"] = "/x/..;a=b/login",
    ["/.;/login"] = "/.;/login",
    ["/%2e;/login"] = "/.;/login",
    ["/a/b/..;/..;/login"] = "/a/b/..;/..;/login",
    ["/x/;a/../login"] = "/x/login",
    ["/x;/..;/login"] = "/x;/..;/login",
    ["/login/../x"] = "/x",
    ["/LOGIN?a"] = "/LOGIN",
    ["/login\\"] = "/login\\",
    ["/x\\..\\login"] = "/x\\..\\login",
    ["//x/login"] = "/x/login",
    ["/login\160"] = "/login\160",
    ["/x/../login\133\160"] = "/login\133\160",
  }) do
    it("is counted as " .. target, function()
      assert.is_true(is_login(target, routed))
    end)
  end

  it("isn't one that no server could mean", function()
    for _, target in ipairs({ "/loginx", "/x/login", "/x;/login", "/x/..;/loginx", "/login.html", "/" }) do
      assert.is_false(is_login(target, target))
    end
  end)

  it("is read as the servers do that are configured", function()
    assert.is_false(is_login("/x/..;/login", "/x/..;/login", paths.differences({ "go" })))
    assert.is_true(is_login("/login/../x", "/x", paths.differences({ "go" })))
    assert.is_false(is_login("/login/../x", "/x", paths.differences({ "tomcat" })))
    assert.is_false(is_login("/LOGIN", "/LOGIN", everywhere, false))
    assert.is_false(is_login("/login\160", "/login\160", paths.differences({ "go" })))
  end)

  it("is read by each server in its own way, spelling by spelling", function()
    local spellings = {
      ["/x\\..\\login"] = { aspnet = true, node = true, tomcat = true },
      ["/x/..;/login"] = { tomcat = true },
      ["//h/login"] = { node = true },
      ["/login\160"] = { flask = true },
    }
    for target, by in pairs(spellings) do
      local read_so = {}
      for _, server in ipairs(paths.names) do
        read_so[server] = is_login(target, target:gsub("//", "/"), paths.differences({ server })) or nil
      end
      assert.same(by, read_so, target)
    end
  end)

  it("has no other reading when it is its own path, and costs nothing more", function()
    for _, target in ipairs({ "/a/b", "/a/b?x=..;/", "/a/b?x=\160", "/" }) do
      assert.is_nil(paths.others(target:match("^[^?]*"), target, everywhere))
    end
  end)
end)

describe("a header's value", function()
  it("is the same with any blanks around", function()
    for _, text in ipairs({ "a b", "a b\t", "\t a b", " \t\t a b \t\11\12" }) do
      assert.equal("a b", fields.trimmed(text))
    end
    assert.equal("", fields.trimmed(" \t "))
    assert.equal("\160x\160", fields.trimmed("\160x\160"))
  end)
end)

describe("a host", function()
  it("has no case, port or dot at its end that means something", function()
    for _, text in ipairs({ "shop.example", "SHOP.Example", "shop.example:80", "shop.example.", "shop.example.:80:80" }) do
      assert.equal("shop.example", fields.host(text))
    end
    assert.equal("[2001:db8::1]", fields.host("[2001:DB8::1]:443"))
  end)
end)

describe("a header", function()
  it("is found at its place and not before, however many there are", function()
    local search = fields.searching(function(key, name)
      return key == name
    end)
    local list = {}
    for i = 0, 99 do
      list[i] = { key = i % 10 == 7 and "wanted" or "other" }
    end
    for from = 0, 99 do
      local expected = from <= 97 and from + (7 - from) % 10 or -1
      assert.equal(expected, search(list, 100, "wanted", from))
    end
    assert.equal(-1, search(list, 7, "wanted", 0))
  end)
end)

describe("the key of an address", function()
  it("is one for a customer's IPv6 network", function()
    assert.equal("2001:db8:0:1::/64", addresses.key("2001:db8:0:1::9", 64))
    assert.equal("2001:db8:0:1::/64", addresses.key("2001:DB8:0:1:ffff:1:2:3", 64))
    assert.equal("2001:db8:0:1200::/56", addresses.key("2001:db8:0:12ff::1", 56))
    assert.equal("2001:db8:0:1:2:3:4::/112", addresses.key("2001:db8:0:1:2:3:4:5", 112))
    assert.equal("2001:db8:0:1:2:3:4:a000/116", addresses.key("2001:db8:0:1:2:3:4:abcd", 116))
    assert.equal("0:0:0:0:0:0:0:1", addresses.key("::1", 128))
    assert.not_equal(addresses.key("2001:db8:0:1::9", 64), addresses.key("2001:db8:0:2::9", 64))
  end)

  it("is that of IPv4 when this is written, or translated, within IPv6", function()
    for _, text in ipairs({ "192.0.2.9", "::ffff:192.0.2.9", "::ffff:c000:209", "64:ff9b::192.0.2.9" }) do
      assert.equal("192.0.2.9", addresses.key(text, 64), text)
    end
  end)

  it("is that of IPv4 in all the networks that are made of it", function()
    assert.equal("192.0.2.9", addresses.key("2002:c000:209::1", 64))
    assert.equal("192.0.2.9", addresses.key("2002:c000:209:ffff::2", 64))
  end)

  it("is what nginx says when it isn't an address", function()
    for _, text in ipairs({ "unix:", "1:2:3", "::g", "1:2:3:4:5:6:7:8:9" }) do
      assert.equal(text, addresses.key(text, 64))
    end
  end)

  it("in a list of the rules is that of the client, or nobody's", function()
    assert.equal("2001:db8:0:0::/64", addresses.listed("2001:db8::7", 64))
    assert.equal("2001:db8:0:0::/64", addresses.listed("2001:db8::/64", 64))
    assert.equal("192.0.2.1", addresses.listed("::ffff:192.0.2.1", 64))
    for _, text in ipairs({ "192.0.2.0/24", "2001:db8::/48", "acme", "192.0.2.256", "" }) do
      assert.is_nil(addresses.listed(text, 64), text)
    end
  end)
end)

describe("a key at the end of a query", function()
  it("isn't clear when some servers leave out blanks behind it", function()
    for _, text in ipairs({ "token=real\160", "a&token=real\133", "token\160" }) do
      assert.is_true(select(2, arguments.pick(arguments.query(text, "token"), "reject")), text)
    end
    assert.equal("real", (arguments.pick(arguments.query("token=real&a=\195\160", "token"), "reject")))
  end)
end)

describe("a name that PHP reads otherwise", function()
  local function is_odd(text)
    return select(2, arguments.pick(arguments.query(text, "api_key"), "reject")) == true
  end

  it("isn't a clear key, also with a bracket that never ends", function()
    for _, text in ipairs({ "api[key=x", "api.key=x", "api%5Bkey=x", "+api_key=x", "api key=x", "api_key[a]=x" }) do
      assert.is_true(is_odd(text), text)
    end
    for _, text in ipairs({ "api[key]=x", "api_key[=x", "apikey=x" }) do
      assert.is_false(is_odd(text), text)
    end
    assert.is_true(select(2, arguments.pick(arguments.cookie({ "api[key=x" }, "api_key"), "reject")))
  end)

  it("in a cookie may have blanks around its =", function()
    assert.equal("x", (arguments.pick(arguments.cookie({ "a=1;\tsession\t=\tx " }, "session"), "reject")))
  end)
end)

describe("the tokens in a header's value", function()
  it("are found behind any scheme and in quotes", function()
    for _, text in ipairs({ "a.b.c", "Bearer a.b.c", "bearer\t a.b.c", "JWT a.b.c", 'Bearer "a.b.c"', "Token a.b.c, x" }) do
      assert.are.same({ "a.b.c" }, tokens.within(text), text)
    end
    assert.are.same({}, tokens.within("Basic YTpi"))
    assert.are.same({ "a.b.c", "d.e.f" }, tokens.within("Bearer a.b.c d.e.f"))
  end)

  it("may say fractions of a second, and be off by the clocks' difference", function()
    assert.is_true(tokens.holds({ exp = 99 }, 100, 5))
    assert.is_true(tokens.holds({ nbf = 101 }, 100, 5))
    assert.is_false(tokens.holds({ exp = 94 }, 100, 5))
  end)
end)

describe("a duration", function()
  it("of any whole number of milliseconds is taken, and counted exactly", function()
    for milliseconds = 1, 60000 do
      local text = ("%d.%03ds"):format(math.floor(milliseconds / 1000), milliseconds % 1000)
      assert.equal(milliseconds * 1000, shape.microseconds(text), text)
    end
    assert.equal(8200000, shape.microseconds("8.2s"))
    assert.equal(86400, shape.microseconds("0.000001d"))
    assert.equal(366 * 86400e6, shape.microseconds("366d"))
  end)

  it("that isn't whole, or isn't a duration, is refused", function()
    for _, text in ipairs({ "0.5us", "1.0000001s", "s", "1", "1x", "-1s", "1.2.3s", "1e3s", "0.00000000000000001d" }) do
      assert.is_nil(shape.microseconds(text), text)
    end
  end)
end)
