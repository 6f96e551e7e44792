_G.ngx = _G.ngx or {}
local ed25519 = require("ratelimit.wire.ed25519")
local keys = require("ratelimit.keys")
local mysql = require("ratelimit.wire.mysql")
local resp = require("ratelimit.wire.resp")

-- A source that gives bytes like a socket.
local function source(bytes)
  local at = 1
  return {
    receive = function(_, what)
      if what == "*l" then
        local stop = bytes:find("\r\n", at, true)
        if not stop then
          return nil, "closed"
        end
        local line = bytes:sub(at, stop - 1)
        at = stop + 2
        return line
      end
      if at + what - 1 > #bytes then
        return nil, "closed"
      end
      local part = bytes:sub(at, at + what - 1)
      at = at + what
      return part
    end,
  }
end

local function hex(bytes)
  return (bytes:gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

local function unhex(text)
  return (text:gsub("..", function(pair)
    return string.char(tonumber(pair, 16))
  end))
end

describe("the Redis protocol", function()
  it("writes numbers of sixteen digits whole", function()
    assert.equal("*2\r\n$1\r\nx\r\n$16\r\n1700000000123456\r\n", resp.encode({ "x", 1700000000123456 }))
  end)

  it("reads every kind of reply", function()
    assert.equal("OK", resp.decode(source("+OK\r\n")))
    assert.are.same({ error = "NOSCRIPT x" }, resp.decode(source("-NOSCRIPT x\r\n")))
    assert.equal(-7, resp.decode(source(":-7\r\n")))
    assert.equal("a\r\nb", resp.decode(source("$4\r\na\r\nb\r\n")))
    assert.equal(false, resp.decode(source("$-1\r\n")))
    assert.are.same({ 1, "x", { 2 } }, resp.decode(source("*3\r\n:1\r\n$1\r\nx\r\n*1\r\n:2\r\n")))
  end)

  it("gives a reason for what is broken, cut short, too long or too deep, and never an error", function()
    local sent = { "", "?\r\n", "*2\r\n:1\r\n", "$5\r\nab", "$99999999\r\n", "*99999999\r\n", "$x\r\n", "*x\r\n" }
    for _, text in ipairs({ "$nan", "$0x4", "$1e1", "*inf", "*0x1", ":inf", ":nan", ":0x1", ":" }) do
      sent[#sent + 1] = text .. "\r\n:1\r\n:1\r\n"
    end
    sent[#sent + 1] = ("*1\r\n"):rep(100000)
    for _, bytes in ipairs(sent) do
      local reply, err = resp.decode(source(bytes))
      assert.is_nil(reply)
      assert.is_string(err)
    end
  end)
end)

describe("Ed25519", function()
  -- RFC 8032, section 7.1, tests 1 and 2.
  it("signs like the RFC's examples", function()
    local first = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    assert.equal(
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        .. "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
      hex(ed25519.sign(first, ""))
    )
    local second = unhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    assert.equal(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        .. "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
      hex(ed25519.sign(second, "r"))
    )
  end)
end)

describe("a log-in by Ed25519 without libsodium", function()
  it("is refused with what to install", function()
    local kept = package.loaded["ratelimit.wire.ed25519"]
    package.loaded["ratelimit.wire.ed25519"] = nil
    local alone = require("ratelimit.wire.ed25519")
    package.loaded["ratelimit.wire.ed25519"] = kept
    alone.library = "libnowhere.so.1"
    local proof, err = alone.sign("secret", ("x"):rep(32))
    assert.is_nil(proof)
    assert.is_truthy(err:find("libnowhere.so.1; apt-get install libsodium23", 1, true))
  end)
end)

describe("the MySQL protocol", function()
  it("reads numbers of every length", function()
    assert.equal(250, (mysql.length_encoded("\250", 1)))
    assert.equal(515, (mysql.length_encoded("\252\3\2", 1)))
    assert.is_nil((mysql.length_encoded("\251", 1)))
  end)

  it("reads rows with nulls", function()
    assert.are.same({ "ab", false, "" }, mysql.row("\2ab\251\0", 3))
  end)

  it("quotes any bytes so that nothing can end the literal", function()
    assert.equal("x'273b2d2d00ff'", mysql.quote("';--\0\255"))
  end)

  it("names an authentication that it does not speak", function()
    local proof, err = mysql.switch({ password = "x" }, "\254sha256_password\0abc")
    assert.is_nil(proof)
    assert.is_truthy(err:find("sha256_password; allowed: caching_sha2_password", 1, true))
  end)

  -- XOR(SHA256(p), SHA256(SHA256(SHA256(p)) + nonce)), worked out with Python's hashlib.
  it("proves a password to caching_sha2_password without telling it", function()
    local nonce = unhex("0102030405060708090a0b0c0d0e0f1011121314") .. "\0"
    local proof = mysql.switch({ password = "secret" }, "\254caching_sha2_password\0" .. nonce)
    assert.equal("746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9", hex(proof))
    assert.equal("", (mysql.switch({ password = "" }, "\254caching_sha2_password\0" .. nonce)))
  end)

  it("tells the password itself only where nobody reads along", function()
    local function continue(address)
      address.password = "secret"
      return mysql.continue(address, "caching_sha2_password", ("\1"):rep(20), "\4")
    end
    assert.equal("secret\0", (continue({ path = "/run/mysqld.sock" })))
    assert.equal("secret\0", (continue({ host = "h", tls = { verify = true } })))
    local told, err
    for _, address in ipairs({ { host = "h" }, { host = "h", tls = { verify = false } } }) do
      told, err = continue(address)
      assert.is_nil(told)
      assert.is_truthy(err:find("public_key_file", 1, true))
    end
    told, err = continue({ host = "h", public_key = "nonsense" })
    assert.is_nil(told)
    assert.equal("not an RSA public key in PEM", err)
  end)
end)

describe("a client's name", function()
  it("is its key when short and plain, else a digest, and the two never meet", function()
    assert.equal("header=alice-1.x_Y", keys.client("header", "alice-1.x_Y"))
    for _, value in ipairs({ "", "a b", "{a}", "h:x", ("k"):rep(65), "\0\1", ("k"):rep(1e7), "no-key=1.2.3.4" }) do
      assert.is_truthy(keys.client("query", value):find("^query=h:%x+$"))
      assert.is_true(#keys.client("query", value) <= 64)
    end
  end)

  it("tells where the key comes from, so that no source speaks for another", function()
    assert.equal("no-key=127.0.0.1", keys.client("no-key", "127.0.0.1"))
    for _, value in ipairs({ "no-key=127.0.0.1", "no-key@127.0.0.1", "127.0.0.1" }) do
      assert.are_not.equal(keys.client("no-key", "127.0.0.1"), keys.client("header", value))
    end
  end)
end)

describe("a connection to Redis that must be secure", function()
  it("says no password to a server whose certificate does not hold", function()
    local connection = require("ratelimit.wire.connection")
    local exchange, sent = connection.exchange, {}
    local open = {
      secure = function()
        return nil, "certificate has expired"
      end,
      send = function(_, bytes)
        sent[#sent + 1] = bytes
        return true
      end,
      receive = function()
        return "+OK"
      end,
    }
    connection.exchange = function(address, greet)
      return greet(open, address)
    end
    local ok, err = resp.call({ greeting = { { "AUTH", "secret" } } }, { "PING" })
    connection.exchange = exchange
    assert.are.same({ nil, "certificate has expired" }, { ok, err })
    assert.are.same({}, sent)
  end)
end)
