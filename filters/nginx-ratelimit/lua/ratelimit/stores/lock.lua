--- Locks between the workers of one nginx: mutexes in memory that the master maps before it forks its workers.
--
-- Keys fall on a fixed number of stripes, few enough for a processor's cache. A holder never yields, so it holds for about a
-- microsecond. The mutexes are robust: when a worker dies while holding one, the kernel tells the next taker, who continues.
-- Several stripes are taken in order, so two requests can't wait for each other. The mapping's address stands in the
-- dictionary `ratelimit_locks`, so that the workers before and after a reload share the same locks.

local ffi = require("ffi")
local clock = require("ratelimit.clock")

-- 64 bytes hold a pthread_mutex_t (40 on x86-64, 48 on arm64) and keep two stripes off one cache line.
ffi.cdef([[
typedef struct { char bytes[64]; } ratelimit_mutex;
void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);
int pthread_mutexattr_init(ratelimit_mutex *attributes);
int pthread_mutexattr_setpshared(ratelimit_mutex *attributes, int shared);
int pthread_mutexattr_setrobust(ratelimit_mutex *attributes, int robust);
int pthread_mutex_init(ratelimit_mutex *mutex, const ratelimit_mutex *attributes);
int pthread_mutex_trylock(ratelimit_mutex *mutex);
int pthread_mutex_consistent(ratelimit_mutex *mutex);
int pthread_mutex_unlock(ratelimit_mutex *mutex);
]])

local C = ffi.C

local M = {}
M.__index = M

local stripes = 127
local read_and_write, shared_and_anonymous, process_shared, robust = 3, 0x21, 1, 1
local owner_died = 130
local spins = 400

local function map()
  local bytes = stripes * ffi.sizeof("ratelimit_mutex")
  local address = C.mmap(nil, bytes, read_and_write, shared_and_anonymous, -1, 0)
  if ffi.cast("intptr_t", address) == -1 then
    error("ratelimit: no memory for locks", 0)
  end
  return ffi.cast("ratelimit_mutex *", address)
end

local function initialise(mutexes)
  local attributes = ffi.new("ratelimit_mutex")
  C.pthread_mutexattr_init(attributes)
  C.pthread_mutexattr_setpshared(attributes, process_shared)
  C.pthread_mutexattr_setrobust(attributes, robust)
  for i = 0, stripes - 1 do
    C.pthread_mutex_init(mutexes + i, attributes)
  end
  return mutexes
end

--- Maps the locks, or finds those of the workers before a reload; called by the master before it forks.
function M.share(dict)
  local address = dict:get("mutexes")
  if not address then
    address = tonumber(ffi.cast("intptr_t", initialise(map())))
    dict:set("mutexes", address)
  end
  M.mutexes = ffi.cast("ratelimit_mutex *", ffi.cast("intptr_t", address))
end

--- The locks that `share` has mapped; waits for at most `patience` seconds.
function M.new(patience)
  return setmetatable({ mutexes = M.mutexes, patience = patience * 1e6 }, M)
end

--- The stripe of one key.
function M.stripe(key)
  return ngx.crc32_short(key) % stripes
end

--- The stripes of a list of requests, each once, in rising order.
function M.stripes(requests)
  local seen, list = {}, {}
  for _, request in ipairs(requests) do
    local number = request.stripe or M.stripe(request.key)
    if not seen[number] then
      seen[number], list[#list + 1] = true, number
    end
  end
  table.sort(list)
  return list
end

local function try(mutex)
  local code = C.pthread_mutex_trylock(mutex)
  if code == owner_died then
    C.pthread_mutex_consistent(mutex)
  end
  return code == 0 or code == owner_died
end

local function wait(mutex, deadline)
  for _ = 1, spins do
    if try(mutex) then
      return true
    end
  end
  while clock.steady() < deadline do
    ngx.sleep(0.001)
    if try(mutex) then
      return true
    end
  end
  return nil, "timeout waiting for a lock"
end

--- Takes one stripe; true, or nil and a reason.
function M:acquire_one(stripe)
  local mutex = self.mutexes + stripe
  -- The first try stands apart from the loops: it nearly always succeeds, and so compiles to straight code.
  if try(mutex) then
    return true
  end
  return wait(mutex, clock.steady() + self.patience)
end

--- Gives one stripe back.
function M:release_one(stripe)
  C.pthread_mutex_unlock(self.mutexes + stripe)
end

--- Takes all stripes or none; true, or nil and a reason.
function M:acquire(list)
  for i = 1, #list do
    local ok, err = self:acquire_one(list[i])
    if not ok then
      self:release(list, i - 1)
      return nil, err
    end
  end
  return true
end

--- Gives back the first `count` stripes.
function M:release(list, count)
  for i = count, 1, -1 do
    self:release_one(list[i])
  end
end

return M
