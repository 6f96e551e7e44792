--- Builds the Redis script from the text of the decision core: one implementation, two hosts.
--
-- KEYS: one per limit. ARGV: [1] now in microseconds, or -1 for the server's clock; [2] after which moment of that clock nobody
-- waits for the answer any more, or -1; then ten per key (see `stores/redis`). Of a call that comes too late nothing is counted.
-- Reply: a string of packed doubles: now, then six per key: allowed, remaining, reset, retry_after, delay, granted.
-- If a binding limit rejects the request, the grants of the others are not written: the reply says what is left without it.
-- State is a string of packed doubles, like in shared memory; a long one (a log) is read and written by the page, in place.

local cores = require("ratelimit.core")

local M = {}

local body = [==[
local whole = 64

local function doubles(count)
  return "<" .. string.rep("d", count)
end

local on_page = 16

-- A long state, read and written by the page.
local function lazy(key)
  local pages, changed = {}, {}
  local function page(number)
    if not pages[number] then
      local raw = redis.call("GETRANGE", key, number * on_page * 8, (number + 1) * on_page * 8 - 1)
      raw = raw .. string.rep("\0", on_page * 8 - #raw)
      pages[number] = { struct.unpack(doubles(on_page), raw) }
    end
    return pages[number]
  end
  local function get(_, i)
    return page(math.floor((i - 1) / on_page))[(i - 1) % on_page + 1]
  end
  local function set(_, i, value)
    local number = math.floor((i - 1) / on_page)
    page(number)[(i - 1) % on_page + 1], changed[number] = value, true
  end
  return setmetatable({}, { __index = get, __newindex = set, pages = pages, changed = changed })
end

-- A log of another limit is longer or shorter than this limit's, and read by the page.
local function read(key, size, core)
  if size > whole then
    return lazy(key)
  end
  local raw = redis.call("GETRANGE", key, 0, whole * 8)
  local is_new = raw == ""
  raw = is_new and string.rep("\0", size * 8) or raw
  local state = #raw == size * 8 and { struct.unpack(doubles(size), raw) }
  if not state or core.stored and not is_new and core.stored(state) ~= size then
    return lazy(key)
  end
  return state
end

local function write(key, state, size, ttl)
  local of = getmetatable(state)
  if not of then
    return redis.call("SET", key, struct.pack(doubles(size), unpack(state, 1, size)), "PX", ttl)
  end
  for number in pairs(of.changed) do
    redis.call("SETRANGE", key, number * on_page * 8, struct.pack(doubles(on_page), unpack(of.pages[number], 1, on_page)))
  end
  redis.call("PEXPIRE", key, ttl)
end

local function clock()
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end

local now = tonumber(ARGV[1])
if now < 0 then
  now = clock()
end
local until_then = tonumber(ARGV[2])
if until_then >= 0 and now > until_then then
  return redis.error_reply("LATE nobody waits for this call any more")
end
local out, writes, welcome = { now }, {}, true
for k = 1, #KEYS do
  local a = 2 + (k - 1) * 10
  local verb, core = ARGV[a + 1], cores[ARGV[a + 2]]()
  local rule = {
    limit = tonumber(ARGV[a + 3]), window = tonumber(ARGV[a + 4]),
    burst = tonumber(ARGV[a + 5]), sub_windows = tonumber(ARGV[a + 6]),
  }
  local size = core.size(rule)
  local state = read(KEYS[k], size, core)
  local allowed, remaining, reset, retry_after, delay, granted = verbs[verb](
    core, state, now, rule, tonumber(ARGV[a + 7]), tonumber(ARGV[a + 8]), tonumber(ARGV[a + 9]))
  if granted > 0 or verb == "report" or verb == "refund" then
    writes[#writes + 1] = { KEYS[k], state, size, math.ceil(core.ttl(rule) / 1000) + 1, core, rule, 1 + (k - 1) * 6 }
  end
  welcome = welcome and (allowed or ARGV[a + 10] == "0")
  local o = 1 + (k - 1) * 6
  out[o + 1], out[o + 2], out[o + 3] = allowed and 1 or 0, remaining, reset
  out[o + 4], out[o + 5], out[o + 6] = retry_after, delay, granted
end
if welcome then
  for _, each in ipairs(writes) do
    write(unpack(each))
  end
else
  for _, each in ipairs(writes) do
    local o = each[7]
    local _, remaining, reset = each[5].decide(read(each[1], each[3], each[5]), now, each[6], 0)
    out[o + 2], out[o + 3], out[o + 6] = remaining, reset, 0
  end
end
return struct.pack(doubles(#out), unpack(out))
]==]

local function text(module)
  local path = assert(package.searchpath(module, package.path))
  local file = assert(io.open(path))
  local content = file:read("*a")
  file:close()
  return (content:gsub("%-%-[^\n]*\n", "\n"))
end

--- The text of the script for some of the algorithms: the fewer, the less Redis has to set up at each call.
function M.build(names)
  local parts = { "local cores = {}\n" }
  for _, name in ipairs(names) do
    parts[#parts + 1] = ("cores.%s = function()\n%s\nend\n"):format(name, text("ratelimit.core." .. cores.files[name]))
  end
  parts[#parts + 1] = ("local verbs = (function()\n%s\nend)()\n"):format(text("ratelimit.core.verbs"))
  parts[#parts + 1] = body
  return (table.concat(parts):gsub("\n[ \n]*\n", "\n"))
end

return M
