--- The judge of rate limiting, one client at a time, in linear time; a twin of patternbench.analyze.throttling, held to it by a test.
--
-- A request should have passed if the units admitted in (now - window, now) before it, plus its own, are within the limit.
-- With a tolerance it deviates only if the windows shorter and longer by the tolerance disagree with it too.

local max, min = math.max, math.min

local M = {}
M.__index = M

--- The sums over all clients.
function M.new(limit, window, tolerance)
  return setmetatable({
    limit = limit,
    windows = { window - tolerance, window, window + tolerance },
    requests = 0,
    clients = 0,
    allowed = 0,
    peak = 0,
    over = 0,
    under = 0,
    tolerant = 0,
    shorter = 0,
    longer = 0,
    mean_over = 0,
    mean_under = 0,
    mean_tolerant = 0,
  }, M)
end

--- The log of one client: admissions in order, and where each of the three windows begins in it.
function M:client()
  return {
    times = {},
    costs = {},
    admitted = 0,
    heads = { 1, 1, 1 },
    sums = { 0, 0, 0 },
    requests = 0,
    over = 0,
    under = 0,
    tolerant = 0,
    peak = 0,
    judge = self,
  }
end

local function counted(log, i, now)
  local head, sum, since = log.heads[i], log.sums[i], now - log.judge.windows[i]
  local times, costs = log.times, log.costs
  while head <= log.admitted and times[head] <= since do
    sum = sum - costs[head]
    head = head + 1
  end
  log.heads[i], log.sums[i] = head, sum
  return sum
end

local function admit(log, now, cost)
  local n = log.admitted + 1
  log.admitted, log.times[n], log.costs[n] = n, now, cost
  for i = 1, 3 do
    log.sums[i] = log.sums[i] + cost
  end
  log.peak = max(log.peak, log.sums[2])
end

--- Judges one request of a client; times must not decrease.
function M.add(log, now, cost, allowed)
  local self = log.judge
  local limit = self.limit - cost
  local shorter, exact, longer = counted(log, 1, now) <= limit, counted(log, 2, now) <= limit, counted(log, 3, now) <= limit
  log.requests = log.requests + 1
  self.shorter = self.shorter + (allowed ~= shorter and 1 or 0)
  self.longer = self.longer + (allowed ~= longer and 1 or 0)
  if allowed then
    log.over = log.over + (exact and 0 or 1)
    log.tolerant = log.tolerant + (shorter and 0 or 1)
    admit(log, now, cost)
    self.allowed = self.allowed + 1
  else
    log.under = log.under + (exact and 1 or 0)
    log.tolerant = log.tolerant + (longer and 1 or 0)
  end
end

--- Adds a client that is through to the sums.
function M:done(log)
  if log.requests == 0 then
    return
  end
  self.requests, self.clients = self.requests + log.requests, self.clients + 1
  self.over, self.under, self.tolerant = self.over + log.over, self.under + log.under, self.tolerant + log.tolerant
  self.mean_over = self.mean_over + log.over / log.requests
  self.mean_under = self.mean_under + log.under / log.requests
  self.mean_tolerant = self.mean_tolerant + log.tolerant / log.requests
  self.peak = max(self.peak, log.peak)
end

local function percent(part, whole)
  return whole == 0 and 0 or 100 * part / whole
end

--- The summary, with the names and units of patternbench.analyze.throttling.summarize.
function M:summary()
  local wrong = self.over + self.under
  return {
    requests = self.requests,
    clients = self.clients,
    allowed = self.allowed,
    deviation = percent(wrong, self.requests),
    wrongly_allowed = percent(self.over, self.requests),
    wrongly_rejected = percent(self.under, self.requests),
    deviation_tolerant = percent(self.tolerant, self.requests),
    deviation_least = percent(min(self.shorter, wrong, self.longer), self.requests),
    deviation_most = percent(max(self.shorter, wrong, self.longer), self.requests),
    client_mean = percent(self.mean_over + self.mean_under, self.clients),
    client_mean_allowed = percent(self.mean_over, self.clients),
    client_mean_rejected = percent(self.mean_under, self.clients),
    client_mean_tolerant = percent(self.mean_tolerant, self.clients),
    peak = self.peak / self.limit,
  }
end

return M
