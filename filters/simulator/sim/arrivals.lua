--- When a client sends: each kind gives a function that says the next time (microseconds from the start), never decreasing.
--
-- All kinds have the same mean rate, so that only the shape differs:
--   steady: evenly spaced from a random phase, a millisecond early or late as no timer is exact (without that, a request would
--   fall exactly on the edge of another's window); poisson: independent requests;
--   bursty: bursts of ten, a millisecond apart, at random moments; on_off: four times the rate for 5 s, then 15 s of silence.

local floor, max = math.floor, math.max

local M = { names = { "steady", "poisson", "bursty", "on_off" } }

local burst_size, burst_gap = 10, 1000
local on, off = 5e6, 15e6
local jitter = 1000

function M.steady(stream, gap)
  local at, last = stream:uniform() * gap - gap, 0
  return function()
    at = at + gap
    last = max(last, floor(at + jitter * (2 * stream:uniform() - 1)))
    return last
  end
end

function M.poisson(stream, gap)
  local at = 0
  return function()
    at = at + stream:exponential(gap)
    return floor(at)
  end
end

function M.bursty(stream, gap)
  local start, at, left = 0, 0, 0
  return function()
    if left == 0 then
      start = start + stream:exponential(gap * burst_size)
      at, left = max(at, start), burst_size
    end
    left = left - 1
    at = at + burst_gap
    return floor(at)
  end
end

function M.on_off(stream, gap)
  local cycle, fast = on + off, gap * on / (on + off)
  local phase, working = stream:uniform() * cycle, stream:uniform() * fast - fast
  return function() -- time at work runs on; every `on` of it, `off` lies between
    working = working + fast
    return max(0, floor(working + floor((working + phase % on) / on) * off))
  end
end

return M
