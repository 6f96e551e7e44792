--- A circuit breaker: after `failures` failures in a row a store is not asked for `open_for`; then one request tries.
--
-- Pure: the caller passes the time (microseconds on any clock that does not step back).

local M = {}
M.__index = M

--- A closed breaker.
function M.new(config)
  return setmetatable({ most = config.failures, open_for = config.open_for, failures = 0, open_until = 0 }, M)
end

--- Whether a request may ask the store. When the pause is over only one may, until it has reported.
function M:allows(now)
  if self.failures < self.most then
    return true
  end
  if now < self.open_until then
    return false
  end
  self.open_until = now + self.open_for
  return true
end

function M:succeeded()
  self.failures = 0
end

function M:failed(now)
  self.failures = self.failures + 1
  if self.failures >= self.most then
    self.open_until = now + self.open_for
  end
end

--- Whether the breaker is open.
function M:is_open(now)
  return self.failures >= self.most and now < self.open_until
end

return M
