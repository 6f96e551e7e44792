--- Builds the Redis script from the text of the decision core: one implementation, two hosts.
--
-- KEYS: one per limit. ARGV: [1] now in microseconds, or -1 for the server's clock; then ten per key (see `stores/redis`).
-- Reply: a string of packed doubles: now, then six per key: allowed, remaining, reset, retry_after, delay, granted.
-- State is a string of packed doubles, like in shared memory; a long one (a log) is read and written in place.

local cores = require("ratelimit.core")

local M = {}

local body = [==[
local whole = 64

local function read_all(key, count)
  local raw, state = redis.call("GETRANGE", key, 0, count * 8 - 1), {}
  for i = 1, count do
    state[i] = #raw >= i * 8 and (struct.unpack("<d", raw, (i - 1) * 8 + 1)) or 0
  end
  return state, function(ttl)
    local parts = {}
    for i = 1, count do
      parts[i] = struct.pack("<d", state[i])
    end
    redis.call("SET", key, table.concat(parts), "PX", ttl)
  end
end

local function read_lazily(key)
  local known, changed = {}, {}
  local function get(_, i)
    if known[i] == nil then
      local raw = redis.call("GETRANGE", key, (i - 1) * 8, i * 8 - 1)
      known[i] = #raw == 8 and (struct.unpack("<d", raw)) or 0
    end
    return known[i]
  end
  local function set(_, i, value)
    known[i], changed[i] = value, true
  end
  return setmetatable({}, { __index = get, __newindex = set }), function(ttl)
    for i in pairs(changed) do
      redis.call("SETRANGE", key, (i - 1) * 8, struct.pack("<d", known[i]))
    end
    redis.call("PEXPIRE", key, ttl)
  end
end

local function clock()
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end

local now = tonumber(ARGV[1])
if now < 0 then
  now = clock()
end
local out, saves, welcome = { now }, {}, true
for k = 1, #KEYS do
  local a = 1 + (k - 1) * 10
  local verb, core = ARGV[a + 1], cores[ARGV[a + 2]]()
  local plan = {
    limit = tonumber(ARGV[a + 3]), window = tonumber(ARGV[a + 4]),
    burst = tonumber(ARGV[a + 5]), sub_windows = tonumber(ARGV[a + 6]),
  }
  local size = core.size(plan)
  local state, save = (size <= whole and read_all or read_lazily)(KEYS[k], size)
  local allowed, remaining, reset, retry_after, delay, granted = verbs[verb](
    core, state, now, plan, tonumber(ARGV[a + 7]), tonumber(ARGV[a + 8]), tonumber(ARGV[a + 9]))
  if granted > 0 or verb == "report" or verb == "refund" then
    saves[#saves + 1] = { save, math.ceil(core.ttl(plan) / 1000) + 1 }
  end
  welcome = welcome and (allowed or ARGV[a + 10] == "0")
  local o = 1 + (k - 1) * 6
  out[o + 1], out[o + 2], out[o + 3] = allowed and 1 or 0, remaining, reset
  out[o + 4], out[o + 5], out[o + 6] = retry_after, delay, granted
end
if welcome then
  for _, each in ipairs(saves) do
    each[1](each[2])
  end
end
for i = 1, #out do
  out[i] = struct.pack("<d", out[i])
end
return table.concat(out)
]==]

local function text(module)
  local path = assert(package.searchpath(module, package.path))
  local file = assert(io.open(path))
  local content = file:read("*a")
  file:close()
  return (content:gsub("%-%-[^\n]*\n", "\n"))
end

--- The whole text of the script.
function M.build()
  local parts = { "local cores = {}\n" }
  for _, name in ipairs(cores.names) do
    parts[#parts + 1] = ("cores.%s = function()\n%s\nend\n"):format(name, text("ratelimit.core." .. cores.files[name]))
  end
  parts[#parts + 1] = ("local verbs = (function()\n%s\nend)()\n"):format(text("ratelimit.core.verbs"))
  parts[#parts + 1] = body
  return (table.concat(parts):gsub("\n[ \n]*\n", "\n"))
end

return M
