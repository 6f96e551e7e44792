--- The wall clock in whole microseconds, exact between two events (ngx.now stands still while Lua runs).

local ffi = require("ffi")

ffi.cdef([[
typedef struct { long seconds; long nanoseconds; } ratelimit_timespec;
int clock_gettime(int clock, ratelimit_timespec *time);
]])

local realtime, monotonic = 0, 1
local time = ffi.new("ratelimit_timespec")

local M = {}

local function read(clock)
  ffi.C.clock_gettime(clock, time)
  return tonumber(time.seconds) * 1000000 + math.floor(tonumber(time.nanoseconds) / 1000)
end

--- Microseconds since 1970.
function M.now()
  return read(realtime)
end

--- Microseconds on a clock that is never stepped.
function M.steady()
  return read(monotonic)
end

return M
