--- A circuit breaker: after `failures` failures in a row a store is not asked for `open_for`; then one request tries.
--
-- Calls that were under way together fail together: one short stall of a busy store must not look like many. So a failure
-- counts only when its call began after the last counted one had failed, and it takes `failures` stalls, or one that lasts
-- `failures` timeouts, to open the breaker. Calls that fail at once (no one listens) follow one another and open it at once.
--
-- Pure: the caller passes the times (microseconds on any clock that does not step back).

local M = {}
M.__index = M

--- A closed breaker.
function M.new(config)
  return setmetatable({ most = config.failures, open_for = config.open_for, failures = 0, open_until = 0, counted_at = 0 }, M)
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

--- A call that began at `began` has failed at `now`.
function M:failed(began, now)
  if began < self.counted_at then
    return
  end
  self.failures, self.counted_at = self.failures + 1, now
  if self.failures >= self.most then
    self.open_until = now + self.open_for
  end
end

--- Whether the breaker is open.
function M:is_open(now)
  return self.failures >= self.most and now < self.open_until
end

return M
