-- Connections over made-up sockets: what a server says and how long it takes is the test's.

local now, opened, replies

local function steady()
  return now
end

package.loaded["ratelimit.clock"] = { now = steady, steady = steady }

-- A socket that remembers its pool and what became of it. Each reply is a function: bytes, or nil and a reason.
local function socket()
  local made = { timeouts = {} }
  opened[#opened + 1] = made
  made.settimeouts = function(_, left)
    made.timeouts[#made.timeouts + 1] = left
  end
  made.connect = function(_, _, _, options)
    made.pool = options.pool
    return true
  end
  made.getreusedtimes = function()
    return 0
  end
  made.send = function(_, bytes)
    made.sent = bytes
    return true
  end
  made.receiveany = function()
    return table.remove(replies, 1)()
  end
  made.setkeepalive = function()
    made.kept = true
    return true
  end
  made.close = function()
    made.closed = true
    return true
  end
  return made
end

_G.ngx = { socket = { tcp = socket } }

local connection = require("ratelimit.wire.connection")
local redis = require("ratelimit.stores.redis")
local resp = require("ratelimit.wire.resp")

local function says(text)
  return function()
    return text
  end
end

local names = 0

-- A new server, which answers with `list`.
local function server(list)
  now, opened, replies, names = 1e9, {}, list, names + 1
  return { host = "h", port = 1, timeout = 0.05, pool = "server " .. names, pool_size = 4, idle = 60 }
end

describe("a connection", function()
  it("is closed after an error of the server, and all others to that server are left", function()
    for _, kind in ipairs({ "READONLY", "NOAUTH", "NOPERM", "MASTERDOWN", "CLUSTERDOWN", "LOADING", "ERR", "-" }) do
      local text = kind .. " x"
      local address = server({ says("+OK\r\n"), says("-" .. text .. "\r\n"), says("+OK\r\n") })
      for _ = 1, 3 do
        resp.call(address, { "PING" })
      end
      assert.are.same({ true, nil }, { opened[1].kept, opened[1].closed })
      assert.are.same({ opened[1].pool, nil, true }, { opened[2].pool, opened[2].kept, opened[2].closed }, text)
      assert.are_not.equal(opened[1].pool, opened[3].pool, text)
      assert.is_true(opened[3].kept)
    end
  end)

  it("is kept after an error that is about the request alone", function()
    for _, text in ipairs({ "NOSCRIPT No matching script.", "FULL 3 keys are held", "LATE x" }) do
      local address = server({ says("-" .. text .. "\r\n"), says("+OK\r\n") })
      resp.call(address, { "PING" })
      resp.call(address, { "PING" })
      assert.is_true(opened[1].kept)
      assert.equal(opened[1].pool, opened[2].pool)
    end
  end)

  it("that finds the server as it was does not leave the new pool as well", function()
    local address = server({ says("-READONLY x\r\n"), says("+OK\r\n"), says("+OK\r\n") })
    local slow = connection.open(address)
    resp.call(address, { "PING" })
    resp.call(address, { "PING" })
    slow:distrust()
    slow:keep()
    resp.call(address, { "PING" })
    assert.equal(opened[3].pool, opened[4].pool)
  end)

  it("that each exchange has of its own is closed after it", function()
    local address = server({ says("+OK\r\n"), says("+OK\r\n") })
    address.connections = "new"
    assert.equal("OK", resp.call(address, { "PING" }))
    assert.equal("OK", resp.call(address, { "PING" }))
    assert.are.same({ true, nil, true, nil }, { opened[1].closed, opened[1].kept, opened[2].closed, opened[2].kept })
  end)

  it("holds a conversation, and tells all replies in order", function()
    local address = server({ says("+OK\r\n:7\r\n"), says("*0\r\n") })
    local first, second
    local found = resp.converse(address, function(say)
      first, second = say({ { "WATCH", "k" }, { "GET", "k" } }), say({ { "EXEC" } })
      return "done"
    end)
    assert.are.same({ "done", { "OK", 7 }, { {} } }, { found, first, second })
    assert.is_true(opened[1].kept)
  end)

  it("is closed when a conversation ends without an answer", function()
    local address = server({ says("+OK\r\n") })
    local found, err = resp.converse(address, function(say)
      say({ { "WATCH", "k" } })
      return nil, "timeout"
    end)
    assert.are.same({ nil, "timeout" }, { found, err })
    assert.is_true(opened[1].closed)
  end)

  it("comes of age after a minute, and requests change over when new ones have been made ahead", function()
    local address = server({ says("+PONG\r\n"), says("+PONG\r\n"), says("+PONG\r\n"), says("+PONG\r\n") })
    resp.call(address, { "PING" })
    assert.is_false(connection.is_old(address))
    now = now + 60e6
    assert.is_true(connection.is_old(address))
    local ahead = connection.ahead(address, 2)
    redis.new({ address = ahead }):warm(ahead)
    resp.call(address, { "PING" })
    connection.use(ahead)
    resp.call(address, { "PING" })
    assert.are_not.equal(opened[1].pool, opened[2].pool)
    assert.are.same({ opened[1].pool, opened[2].pool }, { opened[3].pool, opened[4].pool })
    assert.is_false(connection.is_old(address))
  end)

  it("has one deadline for all bytes, however they drip", function()
    local drips = {}
    for i = 1, 1000 do
      drips[i] = function()
        now = now + 900
        return "1"
      end
    end
    local address = server(drips)
    assert.are.same({ nil, "timeout" }, { resp.call(address, { "PING" }) })
    assert.is_true(now - 1e9 <= 51e3, now - 1e9 .. " us")
    assert.is_true(opened[1].closed)
  end)

  it("reads no line of a server without an end", function()
    local endless, read = {}, 0
    for i = 1, 1000 do
      endless[i] = function()
        read = read + 4096
        return ("1"):rep(4096)
      end
    end
    local address = server(endless)
    assert.are.same({ nil, "line too long" }, { resp.call(address, { "PING" }) })
    assert.is_true(read <= 2 * 65536, read .. " bytes")
    assert.is_true(opened[1].closed)
  end)

  it("reads a long line that comes in pieces", function()
    local address = server({ says("+" .. ("1"):rep(30000)), says(("2"):rep(30000) .. "\r"), says("\n") })
    assert.equal(("1"):rep(30000) .. ("2"):rep(30000), resp.call(address, { "PING" }))
  end)

  it("keeps to the deadline of the request, when that is earlier than its own", function()
    local address = server({ says("+OK\r\n") })
    resp.ask(address, "PING", now + 7e3)
    assert.are.same({ 7 }, opened[1].timeouts)
    assert.are.same({ nil, "timeout" }, { resp.ask(address, "PING", now) })
  end)

  it("asks for a script that the server has forgotten within the same deadline", function()
    local limit = { algorithm = "gcra", limit = 1, window = 1e6, burst = 1, sub_windows = 5 }
    local request = { key = "k", limit = limit, verb = "take", amount = 1, binding = true }
    local address = server({
      function()
        now = now + 45e3
        return "-NOSCRIPT x\r\n"
      end,
      says("+OK\r\n"),
    })
    redis.new({ address = address }):decide({ request })
    assert.are.same({ 50, 5 }, { opened[1].timeouts[1], opened[2].timeouts[1] })
  end)
end)

describe("the clock of a Redis server", function()
  local limit = { algorithm = "gcra", limit = 1, window = 1e6, burst = 1, sub_windows = 5 }
  local request = { key = "k", limit = limit, verb = "take", amount = 1, binding = true }

  -- A store that has learnt the server's clock, and then got one error.
  local function store_after(text)
    local store = redis.new({ address = server({ says("-" .. text .. "\r\n") }) })
    store.servers:learn(now, now + 1000, now)
    assert.are.same({ nil, text }, { store:decide({ request }) })
    return store
  end

  it("stays known after an error that is about the request alone", function()
    local store = store_after("FULL 3 keys are held")
    assert.equal(now + 1000, store.servers:before(now))
  end)

  it("is learnt while connections are made ahead", function()
    local address = server({ says("*2\r\n$2\r\n10\r\n$1\r\n7\r\n"), says("-ERR x\r\n") })
    local store = redis.new({ address = address })
    assert.are.same({ "10", "7" }, store:warm(address))
    assert.equal(10e6 + 7, store.servers:before(now))
    store:warm(address)
    assert.equal(10e6 + 7, store.servers:before(now))
  end)

  it("tells the server of a call to count nothing when its answer could not be here in time", function()
    local said, back, ahead = require("ffi").new("double[7]", { 5e9, 1, 9, 1e6, 0, 0, 1 }), 30e3, 5e9 - 1e9
    local answer = "$56\r\n" .. require("ffi").string(said, 56) .. "\r\n"
    local address = server({
      function()
        now = now + back
        return answer
      end,
      says(answer),
    })
    local store = redis.new({ address = address })
    store:decide({ request })
    store:decide({ request }, nil, now + 40e3)
    local till = now + 40e3 + ahead - back
    assert.is_truthy(opened[2].sent:find(("\r\n%.0f\r\n"):format(till), 1, true))
  end)

  it("is forgotten after a late call and after errors that another server might not answer", function()
    for _, kind in ipairs({ "LATE", "READONLY", "MASTERDOWN", "NOAUTH", "LOADING", "ERR" }) do
      assert.equal(-1, store_after(kind .. " x").servers:before(now), kind)
    end
  end)
end)

describe("a Redis that may forget clients", function()
  it("is named with what to write", function()
    local wrong = redis.forgetting("maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru\r\n")
    assert.is_truthy(wrong:find("maxmemory-policy is allkeys-lru; write: CONFIG SET maxmemory-policy noeviction", 1, true))
    assert.is_truthy(redis.forgetting("maxmemory:1\r\nmaxmemory_policy:volatile-ttl\r\n"))
  end)

  it("is not one that refuses what does not fit, has no bound, or does not tell", function()
    assert.is_nil(redis.forgetting("maxmemory:1000000\r\nmaxmemory_policy:noeviction\r\n"))
    assert.is_nil(redis.forgetting("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"))
    assert.is_nil(redis.forgetting(""))
  end)
end)
