--- Random numbers from a seed: the same on every machine, and one stream a client, so that clients don't depend on each other.
--
-- Park and Miller's minimal standard generator (Communications of the ACM 31, 1988): x' = 16807 x mod (2^31 - 1); exact in
-- doubles.

local log, floor = math.log, math.floor

local modulus = 2147483647

local M = {}
M.__index = M

--- Its own stream for each seed and number.
function M.new(seed, number)
  local state = (seed * 69621 + number * 1000003 + 12345) % (modulus - 1) + 1
  local stream = setmetatable({ state = state }, M)
  for _ = 1, 5 do
    stream:uniform()
  end
  return stream
end

--- A number above 0 and below 1.
function M:uniform()
  self.state = self.state * 16807 % modulus
  return self.state / modulus
end

--- An exponential number of that mean.
function M:exponential(mean)
  return -mean * log(self:uniform())
end

--- A whole number from 1 to `most`.
function M:whole(most)
  return 1 + floor(self:uniform() * most)
end

return M
