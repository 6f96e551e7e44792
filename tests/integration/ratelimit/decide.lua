-- Test door: decides a list of { now, cost } under one limit in a store of the rules in force, on the test's clock.
local cjson = require("cjson")
local rules = require("ratelimit.rules")
local in_force = require("ratelimit.in_force")

ngx.req.read_body()
local body = ngx.req.get_body_data()
if not body then
  local file = assert(io.open(ngx.req.get_body_file()))
  body = file:read("*a")
  file:close()
end
local ask = cjson.decode(body)
local config = in_force.current.stores[ask.store]
config.address.timeout = 5
local store = require("ratelimit.stores." .. config.kind).new({
  address = config.address, timeout = 0.05, asks = config.asks,
})
local limit = rules.ready({
  name = "vector", algorithm = ask.algorithm, limit = ask.plan.limit, window = ask.plan.window,
  burst = ask.plan.burst, sub_windows = ask.plan.sub_windows,
})
local out = {}
for i, request in ipairs(ask.requests) do
  local answers, err = store:decide({ {
    key = "pb:{" .. ask.key .. "}:" .. limit.tag, limit = limit, verb = request[3] or "take", amount = request[2],
    share = 1, at = request[4] or 0, binding = (request[3] or "take") == "take",
  } }, request[1])
  if not answers then
    ngx.status = 500
    ngx.say(err)
    return
  end
  local a = answers[1]
  out[i] = { a.allowed, a.remaining, a.reset, a.retry_after, a.delay }
end
ngx.say(cjson.encode(out))
