--- Rules: which limits hold for which requests. Reads JSON text into checked and ready tables, or lists every problem.
--
-- contracts/ratelimit/plan.schema.json describes the same for editors. Durations become microseconds.
-- Pure but for `secret_file` and `password_file`, which `read` supplies.

local addresses = require("ratelimit.addresses")
local cjson = require("cjson.safe")
local cores = require("ratelimit.core")
local crypto = require("ratelimit.wire.crypto")
local keys = require("ratelimit.keys")
local origins = require("ratelimit.origins")
local paths = require("ratelimit.paths")
local shape = require("ratelimit.shape")

local M = {}

local object, word, whole, text = shape.object, shape.word, shape.whole, shape.text
local name = text("^[%w_%-]+$", "letters, digits, _ and -")

local source = object({
  from = { word("header", "query", "cookie", "jwt", "address", "variable", "everyone"), required = true },
  name = { shape.any_text },
  claim = { shape.any_text },
  secret_file = { shape.any_text },
  verified = { shape.boolean, default = false },
  ignore_case = { shape.boolean, default = false },
  leeway = { shape.duration("0s", "1h") },
})

local function one_or_more(item)
  local list = shape.list(item, 1)
  return function(value, path, problems)
    if type(value) == "table" and #value > 0 then
      return list(value, path, problems)
    end
    return { item(value, path, problems) }
  end
end

local store = object({
  kind = { word("memory", "redis", "mariadb", "crdt"), required = true },
  address = { shape.any_text },
  timeout = { shape.duration("1ms", "1s"), default = 50e3 },
  user = { shape.any_text },
  password = { shape.any_text },
  password_file = { shape.any_text },
  public_key_file = { shape.any_text },
  database = { shape.any_text },
  tls = { object({ verify = { shape.boolean, default = true }, server_name = { shape.any_text } }) },
  pool = { whole(1, 10000) },
  idle = { shape.duration("1s", "1h"), default = 60e6 },
  connections = { word("pooled", "new"), default = "pooled" },
  asks = { word("one_call", "sent_script", "lock", "transaction"), default = "one_call" },
  breaker = {
    object({ failures = { whole(1, 1000), default = 5 }, open_for = { shape.duration("10ms", "1m"), default = 1e6 } }),
    default = { failures = 5, open_for = 1e6 },
  },
})

local quantity = whole(1, 1e9)
local window = shape.duration("1ms", "1d")

local limit = object({
  name = { name, required = true },
  match = {
    object({
      path_prefix = { text("^/", "a path that begins with /") },
      methods = { shape.list(text("^%u+$", "a method in capitals"), 1) },
      ignore_case = { shape.boolean, default = true },
    }),
    default = {},
  },
  key = { one_or_more(source), required = true },
  missing_key = { word("reject", "skip", "address"), default = "address" },
  ambiguous_key = { word("reject", "first", "last"), default = "reject" },
  invalid_token = { word("missing", "reject"), default = "missing" },
  ipv6_prefix = { whole(1, 128), default = addresses.prefix },
  algorithm = { word(unpack(cores.names)), required = true },
  limit = { quantity, required = true },
  window = { window, required = true },
  burst = { quantity },
  sub_windows = { whole(1, 60), default = 5 },
  store = { name, default = "memory" },
  when_store_fails = { word("open", "closed", "local") },
  cost = {
    shape.either(
      object({
        from = { word("header", "variable"), required = true },
        name = { shape.any_text, required = true },
        default = { whole(1, 1e6), default = 1 },
        most = { whole(1, 1e6), required = true },
      }),
      whole(1, 1e6)
    ),
    default = 1,
  },
  tiers = {
    shape.map(
      "^[%w_%-]+$",
      "letters, digits, _ and -",
      object({ limit = { quantity, required = true }, window = { window }, burst = { quantity } })
    ),
    default = {},
  },
  tier = { source },
  clients = { shape.map("^.", "a key", name), default = {} },
  shadow = { shape.boolean, default = false },
  allow = { shape.list(shape.any_text), default = {} },
  deny = { shape.list(shape.any_text), default = {} },
  lease = {
    object({
      mode = { word("lazy", "eager"), required = true },
      share = { shape.share, default = 0.5 },
      most = { whole(1, 1e6), default = 1e6 },
      size = { word("static", "dynamic"), default = "static" },
      expires = { shape.duration("10ms", "1m"), default = 1e6 },
      holder = { word("worker", "balancer"), default = "worker" },
    }),
  },
})

local rules = object({
  ["$schema"] = { shape.any_text },
  version = { whole(1, 1), required = true },
  balancer = { text("^[%w_.%-]+$", "letters, digits, _ . and -"), default = "balancer" },
  balancers = { whole(1, 10000), default = 1 },
  stores = { shape.map("^[%w_%-]+$", "letters, digits, _ and -", store), default = {} },
  servers = { shape.list(word(unpack(paths.names)), 1), default = paths.names },
  limits = { shape.list(limit), required = true },
  fields = { word("draft", "legacy", "both", "off"), default = "draft" },
  dry_run = { shape.boolean, default = false },
  decision_log = {
    object({ folder = { shape.any_text, required = true }, rows = { word("all", "rejected"), default = "all" } }),
  },
  hot_keys = { whole(0, 100), default = 20 },
})

-- What the shape alone can't say. -----------------------------------------------------------------------------------

local function copy(each, changes)
  local out = {}
  for key, value in pairs(each) do
    out[key] = value
  end
  for key, value in pairs(changes) do
    out[key] = value
  end
  return out
end

-- The limit that holds for the clients of a tier. Its burst is its own, or its limit: never the base's.
local function of_tier(each, values)
  local out = copy(each, values)
  out.burst = values.burst
  return out
end

-- What of a request a name must be able to be. nginx's variables are named here without their $.
local nameable = {
  header = { "^[%w!#$%%&'*+.^_`|~-]+$", "the name of a header has letters, digits and - only" },
  jwt = { "^[%w!#$%%&'*+.^_`|~-]+$", "the name of a header has letters, digits and - only" },
  variable = { "^[%w_]+$", "the name of a variable has letters, digits and _ only, and no $ before them" },
}

local function check_name(each, path, problems)
  local allowed = each.name and nameable[each.from]
  if allowed and not each.name:find(allowed[1]) then
    shape.problem(problems, path .. ".name", each.name, "no request has that: " .. allowed[2])
  end
end

local needs_name = { header = true, query = true, cookie = true, variable = true }
local has_case = { query = true, cookie = true }

local function check_source(each, path, problems)
  check_name(each, path, problems)
  if each.leeway and each.from ~= "jwt" then
    shape.problem(problems, path .. ".leeway", each.leeway, "only a jwt has times that clocks may differ about")
  end
  if each.ignore_case and not has_case[each.from] then
    shape.problem(problems, path .. ".ignore_case", true, "only the names of a query and of a cookie have a case")
  end
  if needs_name[each.from] and not each.name then
    shape.problem(problems, path .. ".name", nil, ("is missing: the name of the %s"):format(each.from))
  elseif each.from == "jwt" and not each.claim then
    shape.problem(problems, path .. ".claim", nil, 'is missing: the claim that names the client, such as "sub"')
  elseif each.from == "jwt" and not each.secret_file and not each.verified then
    shape.problem(
      problems,
      path .. ".secret_file",
      nil,
      "is missing: an unverified token lets a client pose as another; "
        .. 'give the file of the HS256 secret, or "verified": true when nginx has checked the token before'
    )
  end
end

local has_burst = { token_bucket = true, leaky_bucket = true, gcra = true }

local function check_algorithm(each, path, problems)
  if each.burst and not has_burst[each.algorithm] then
    shape.problem(problems, path .. ".burst", each.burst, "only token_bucket, leaky_bucket and gcra have a burst")
  end
  local burst = each.burst or each.limit
  if has_burst[each.algorithm] and burst and each.window and burst * each.window > 2 ^ 53 then
    shape.problem(problems, path .. ".burst", burst, "burst x window is too large to count exactly; shorten one")
  end
  if each.algorithm == "leaky_bucket" and each.limit and each.window and burst * each.window / each.limit > 60e6 then
    shape.problem(problems, path .. ".burst", burst, "the last request in the bucket would wait longer than a minute")
  end
  if each.algorithm == "sliding_window_log" and each.limit and each.limit > 100000 then
    shape.problem(problems, path .. ".limit", each.limit, "a sliding_window_log remembers every request; at most 100000")
  end
end

local function check_lease(each, path, problems)
  local core = each.lease and cores[each.algorithm]
  if core and not core.leasable then
    shape.problem(
      problems,
      path .. ".lease",
      each.algorithm,
      "can't be leased; allowed: fixed_window, sliding_window_log, sliding_window_counter, token_bucket"
    )
  end
end

local function check_store(each, path, problems, stores)
  local used = each.store == "memory" and not stores.memory and { kind = "memory" } or stores[each.store]
  if not used then
    local known = { "memory" }
    for key in pairs(stores) do
      known[#known + 1] = key
    end
    table.sort(known)
    return shape.problem(problems, path .. ".store", each.store, "no such store; allowed: " .. table.concat(known, ", "))
  end
  if used.kind == "memory" and each.when_store_fails == "local" then
    shape.problem(problems, path .. ".when_store_fails", "local", "the memory store is local already; allowed: open, closed")
  end
end

-- A bucket over the sidecar: what rule.go of crdt-sidecar takes.
local most_per_millisecond = 1000

local function check_sidecar(each, path, problems, stores)
  local used = stores[each.store]
  if used and used.kind == "crdt" and has_burst[each.algorithm] and each.limit * 1e3 > most_per_millisecond * each.window then
    local most = ("the sidecar counts at most %d units per millisecond in a bucket"):format(most_per_millisecond)
    shape.problem(problems, path .. ".limit", each.limit, most)
  end
end

-- Methods that nginx answers with 405 before it looks for a location.
local unheard = { CONNECT = true, TRACE = true }

local function is_none_heard(methods)
  for _, method in ipairs(methods) do
    if not unheard[method] then
      return false
    end
  end
  return true
end

local function check_match(each, path, problems)
  local why = each.path_prefix and paths.never(each.path_prefix)
  if why then
    shape.problem(problems, path .. ".path_prefix", each.path_prefix, "no request would match: " .. why)
  end
  if each.methods and is_none_heard(each.methods) then
    shape.problem(problems, path .. ".methods", each.methods, "no request would match: nginx refuses these methods itself")
  end
end

local function check_listed(each, field, listed, path, problems)
  local _, why = origins.listed(listed, each.key, each.ipv6_prefix)
  if why then
    shape.problem(problems, path .. "." .. field, listed, "no client has this key: " .. why)
  end
end

local function check_lists(each, path, problems)
  for _, field in ipairs({ "allow", "deny" }) do
    for i, listed in ipairs(each[field]) do
      check_listed(each, ("%s[%d]"):format(field, i - 1), listed, path, problems)
    end
  end
  for client in pairs(each.clients) do
    check_listed(each, "clients." .. client, client, path, problems)
  end
end

local function check_tiers(each, path, problems, stores)
  for client, tier in pairs(each.clients) do
    if not each.tiers[tier] then
      shape.problem(problems, path .. ".clients." .. client, tier, "no such tier")
    end
  end
  for tier, values in pairs(each.tiers) do
    check_algorithm(of_tier(each, values), path .. ".tiers." .. tier, problems)
    check_sidecar(of_tier(each, values), path .. ".tiers." .. tier, problems, stores)
  end
end

local function check_cost(cost, path, problems)
  if type(cost) == "table" and cost.default and cost.most and cost.default > cost.most then
    shape.problem(problems, path .. ".default", cost.default, ("is more than the most: write at most %d"):format(cost.most))
  end
end

local function check_limit(each, path, problems, stores)
  for i, from in ipairs(each.key or {}) do
    check_source(from, ("%s.key[%d]"):format(path, i - 1), problems)
  end
  if each.tier then
    check_source(each.tier, path .. ".tier", problems)
  end
  check_algorithm(each, path, problems)
  check_lease(each, path, problems)
  check_cost(each.cost, path .. ".cost", problems)
  check_match(each.match, path .. ".match", problems)
  check_store(each, path, problems, stores)
  check_sidecar(each, path, problems, stores)
  check_lists(each, path, problems)
  check_tiers(each, path, problems, stores)
end

local function check_address(each, path, problems)
  if each.kind ~= "memory" and not each.address then
    shape.problem(problems, path .. ".address", nil, 'is missing: "host:port" or "unix:/path"')
  elseif
    each.address
    and not each.address:find("^unix:/")
    and not each.address:find("^[^%s:]+:%d+$")
    and not each.address:find("^%[[%x:]+%]:%d+$")
  then
    shape.problem(problems, path .. ".address", each.address, 'must be "host:port", "[IPv6]:port" or "unix:/path"')
  end
  if each.kind ~= "redis" and each.asks ~= "one_call" then
    shape.problem(problems, path .. ".asks", each.asks, ("a store of the kind %s is asked by one_call only"):format(each.kind))
  end
  if each.kind == "mariadb" then
    for _, field in ipairs({ "user", "database" }) do
      if not each[field] then
        shape.problem(problems, path .. "." .. field, nil, "is missing")
      end
    end
  end
end

local function check(value, problems)
  for key, each in pairs(value.stores) do
    check_address(each, "stores." .. key, problems)
  end
  local seen = {}
  for i, each in ipairs(value.limits) do
    local path = ("limits[%d]"):format(i - 1)
    if seen[each.name] then
      shape.problem(problems, path .. ".name", each.name, "another limit has this name")
    end
    seen[each.name] = true
    check_limit(each, path, problems, value.stores)
  end
end

-- From checked to ready. ---------------------------------------------------------------------------------------------

local function secrets(value, problems, read)
  local function load(holder, path, field, target)
    if holder[field] then
      local content, err = read(holder[field])
      if not content then
        return shape.problem(problems, path .. "." .. field, holder[field], "can't be read: " .. tostring(err))
      end
      holder[target] = content:gsub("%s+$", "")
    end
  end
  local function load_secret(holder, path)
    load(holder, path, "secret_file", "secret")
    if holder.secret == "" then
      shape.problem(problems, path .. ".secret_file", holder.secret_file, "is empty: anyone could sign a token")
    end
  end
  for key, each in pairs(value.stores) do
    load(each, "stores." .. key, "password_file", "password")
    load(each, "stores." .. key, "public_key_file", "public_key")
  end
  for i, each in ipairs(value.limits) do
    local path = ("limits[%d]"):format(i - 1)
    for k, from in ipairs(each.key) do
      load_secret(from, ("%s.key[%d]"):format(path, k - 1))
    end
    if each.tier then
      load_secret(each.tier, path .. ".tier")
    end
  end
end

local function set(list)
  local out = {}
  for _, each in ipairs(list) do
    out[each] = true
  end
  return out
end

-- The part of a storage key that tells limits and algorithms apart: no two share state, whatever they are
-- called. A changed limit finds the state of the old one. A long name stands there as its digest: MariaDB's keys have 200 bytes.
local function tag(each)
  local parts = { keys.harmless(each.name), each.algorithm, ("%.0f"):format(each.window) }
  if each.algorithm == "sliding_window_counter" then
    parts[4] = tostring(each.sub_windows)
  end
  return table.concat(parts, ":")
end

--- A limit with what the decision core and the stores need, computed once.
function M.ready(each)
  local core = cores[each.algorithm]
  each.burst = each.burst or each.limit
  each.size, each.ttl = core.size(each), core.ttl(each)
  each.seconds = each.ttl / 1e6 + 1
  each.leasable, each.stored = core.leasable, core.stored
  each.tag = tag(each)
  each.digest = crypto.sha1(each.tag):sub(1, 8)
  each.quoted = ('"%s";r='):format(each.label or each.name)
  each.quota = ('"%s";q=%d;w=%d'):format(each.label or each.name, each.limit, math.ceil(each.window / 1e6))
  return each
end

-- What one of `balancers` allows on its own while the store is away.
local function localized(each, balancers)
  return M.ready(copy(each, {
    label = each.name,
    name = each.name .. ".local",
    lease = false,
    limit = math.max(1, math.floor(each.limit / balancers)),
    burst = math.max(1, math.floor((each.burst or each.limit) / balancers)),
  }))
end

-- Where the keys of a limit come from, in words.
local function source_of(key)
  local words = {}
  for i, from in ipairs(key) do
    words[i] = from.from
  end
  return table.concat(words, "+")
end

-- GET is also HEAD: servers answer both by one handler.
local function methods_of(match)
  local methods = match.methods and set(match.methods)
  if methods then
    methods.HEAD = methods.HEAD or methods.GET
  end
  return methods
end

local function keyed(each, map)
  local out = {}
  for key, value in pairs(map) do
    out[origins.listed(key, each.key, each.ipv6_prefix)] = value
  end
  return out
end

-- Lists in the spelling of the keys.
local function prepare_lists(each)
  each.allow, each.deny = keyed(each, set(each.allow)), keyed(each, set(each.deny))
  each.clients = keyed(each, each.clients)
end

local default_leeway = 60e6

local function prepare_source(from, each)
  from.ipv6_prefix, from.leeway = each.ipv6_prefix, from.leeway or default_leeway
end

local function prepare_match(each, differences)
  each.methods, each.ignore_case, each.differences = methods_of(each.match), each.match.ignore_case ~= false, differences
  local prefix = each.match.path_prefix
  each.prefix = prefix and each.ignore_case and prefix:lower() or prefix
end

local function prepare_sources(each)
  for _, from in ipairs(each.key) do
    prepare_source(from, each)
  end
  if each.tier then
    prepare_source(each.tier, each)
  end
end

local function prepare(each, balancers, stores, dry_run, differences)
  local kind = (stores[each.store] or { kind = "memory" }).kind
  each.when_store_fails = each.when_store_fails or (kind == "memory" and "closed" or "local")
  each.is_remote, each.is_central = kind ~= "memory", kind == "redis" or kind == "mariadb"
  each.binding = not (each.shadow or dry_run)
  prepare_lists(each)
  prepare_match(each, differences)
  prepare_sources(each)
  each.source = source_of(each.key)
  each.localized = localized(each, balancers)
  local tiers = {}
  for tier, values in pairs(each.tiers) do
    tiers[tier] = M.ready(of_tier(each, values))
    tiers[tier].localized = localized(tiers[tier], balancers)
  end
  each.by_tier = tiers
  return M.ready(each)
end

-- Connections a worker; few for MariaDB, where they would queue for a row's lock anyway.
local pools = { redis = 64, crdt = 64, mariadb = 8 }

-- Connections are shared only by stores that greet alike: one that logged in or verified less must not serve another, and
-- MariaDB is told the timeout.
local function pool_name(each, address)
  local tls = each.tls and ("tls %s %s"):format(tostring(each.tls.verify), each.tls.server_name or "") or "plain"
  local proof = crypto.sha256(address.password):gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end)
  local told = { each.kind, each.address, address.user, address.database, tls, proof, each.timeout, each.connections }
  return table.concat(told, "|")
end

local function address(each)
  local out = {
    timeout = each.timeout / 1e6,
    pool_size = each.pool or pools[each.kind],
    idle = each.idle / 1e6,
    tls = each.tls,
    user = each.user or "",
    password = each.password or "",
    database = each.database or "",
    public_key = each.public_key,
    connections = each.connections,
  }
  if each.address:sub(1, 5) == "unix:" then
    out.path = each.address:sub(6)
  else
    out.host, out.port = each.address:match("^%[?(.-)%]?:(%d+)$")
    out.port = tonumber(out.port)
  end
  out.pool = pool_name(each, out)
  return out
end

local function greeting(each)
  local list = {}
  if each.password then
    list[1] = each.user and { "AUTH", each.user, each.password } or { "AUTH", each.password }
  end
  if each.kind == "redis" and each.database then
    list[#list + 1] = { "SELECT", each.database }
  end
  return list
end

-- What lets most requests take the short way: one limit, and nothing to write but the draft's fields.
local function short_cut(value)
  value.only = #value.limits == 1 and value.limits[1] or nil
  value.is_plain = not value.decision_log and (value.fields == "draft" or value.fields == "off")
end

local function prepare_store(each)
  each.timeout_seconds = each.timeout / 1e6
  if each.kind ~= "memory" then
    each.address = address(each)
    each.address.greeting = greeting(each)
  end
  return each
end

-- Line and column of a character, so that an editor can go there.
local function place(json, message)
  local at = tonumber(message:match("at character (%d+)"))
  if not at then
    return message
  end
  local before = json:sub(1, at - 1)
  local _, lines = before:gsub("\n", "")
  return ("line %d, column %d: %s"):format(lines + 1, #before:match("[^\n]*$") + 1, message:gsub(" at character %d+", ""))
end

--- Checks and prepares rules.
-- @param json the text of the file
-- @param read a function from a file's name to its content, or nil and a reason
-- @return rules, or nil and a list of problems
function M.parse(json, read)
  local problems = {}
  local value, err = cjson.decode(json)
  if value == nil then
    return nil, { { path = "", message = "is not JSON: " .. place(json, err) } }
  end
  local checked = rules(value, "", problems)
  if #problems == 0 then
    check(checked, problems)
  end
  if #problems == 0 then
    secrets(checked, problems, read)
  end
  if #problems > 0 then
    return nil, problems
  end
  checked.differences = paths.differences(checked.servers)
  for _, each in ipairs(checked.limits) do
    prepare(each, checked.balancers, checked.stores, checked.dry_run, checked.differences)
    checked.binding = checked.binding or each.binding
  end
  short_cut(checked)
  checked.stores.memory = checked.stores.memory or store({ kind = "memory" }, "", {})
  for _, each in pairs(checked.stores) do
    prepare_store(each)
  end
  return checked
end

return M
