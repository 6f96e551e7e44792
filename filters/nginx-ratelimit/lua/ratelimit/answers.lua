--- What a client gets: the RateLimit fields (draft-ietf-httpapi-ratelimit-headers-10), the older X-RateLimit ones, and a
-- problem document (RFC 9457) on 429.
--
-- `t` in RateLimit is when the whole quota is back, or, on a rejection, the same moment as Retry-After.

local cjson = require("cjson.safe")

local bit = require("bit")

local ceil, max = math.ceil, math.max
-- Units and seconds fit 32 bits, and integers become text much faster than doubles.
local tobit = bit.tobit

local M = {}

local function seconds(microseconds)
  return max(0, ceil(microseconds / 1e6))
end

local function wait(outcome)
  return max(1, seconds(outcome.retry_after))
end

local function item(outcome)
  local limit = outcome.limit
  local moment = outcome.allowed and seconds(outcome.reset) or outcome.retry_after < 0 and seconds(outcome.reset) or wait(outcome)
  return limit.quoted .. outcome.remaining .. ";t=" .. moment
end

--- The values of RateLimit-Policy and RateLimit for a list of outcomes.
function M.draft(outcomes)
  if #outcomes == 1 then
    return outcomes[1].limit.quota, item(outcomes[1])
  end
  local policies, items = {}, {}
  for i, outcome in ipairs(outcomes) do
    policies[i], items[i] = outcome.limit.quota, item(outcome)
  end
  return table.concat(policies, ", "), table.concat(items, ", ")
end

--- The outcome that leaves the client least: rejected before allowed, then by what remains.
function M.tightest(outcomes)
  local found = outcomes[1]
  for _, outcome in ipairs(outcomes) do
    local less = outcome.remaining < found.remaining
    if found.allowed and (not outcome.allowed or less) or not found.allowed and not outcome.allowed and less then
      found = outcome
    end
  end
  return found
end

--- Retry-After in seconds: the longest wait of the binding rejections; nil when waiting never helps.
function M.retry_after(outcomes)
  local longest = 0
  for _, outcome in ipairs(outcomes) do
    if outcome.rejects then
      if outcome.retry_after < 0 then
        return nil
      end
      longest = max(longest, wait(outcome))
    end
  end
  return longest
end

--- The body of a 429.
function M.problem(outcomes)
  local violated = {}
  for _, outcome in ipairs(outcomes) do
    if outcome.rejects then
      violated[#violated + 1] = outcome.limit.label or outcome.limit.name
    end
  end
  local after = M.retry_after(outcomes)
  return cjson.encode({
    type = "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title = "Request cannot be satisfied as assigned quota has been exceeded",
    status = 429,
    detail = after and ("Try again in %d s."):format(after) or "This request costs more than the limit ever allows.",
    ["violated-policies"] = violated,
  })
end

--- Sets the fields on the answer to a request that one limit allowed, without a table.
function M.describe_one(limit, remaining, reset, fields)
  if fields == "draft" then
    local header = ngx.header
    header["RateLimit-Policy"] = limit.quota
    header["RateLimit"] = limit.quoted .. tobit(remaining) .. ";t=" .. tobit(seconds(reset))
  end
end

--- Sets the fields on the current answer.
function M.describe(outcomes, fields)
  if #outcomes == 0 or fields == "off" then
    return
  end
  if fields ~= "legacy" then
    ngx.header["RateLimit-Policy"], ngx.header["RateLimit"] = M.draft(outcomes)
  end
  if fields ~= "draft" then
    local outcome = M.tightest(outcomes)
    ngx.header["X-RateLimit-Limit"] = outcome.limit.limit
    ngx.header["X-RateLimit-Remaining"] = outcome.remaining
    ngx.header["X-RateLimit-Reset"] = seconds(outcome.reset)
  end
end

--- Whether the answer to the current request already has the fields of a decision.
function M.is_described()
  local header = ngx.header
  return header["RateLimit-Policy"] ~= nil or header["X-RateLimit-Limit"] ~= nil
end

-- A client that waits to be told to send its body need not: without this, nginx tells it to and throws the body away. It may
-- send it all the same, or not, so what follows on the connection could be either.
local function ask_for_no_body()
  if ngx.var.http_expect then
    ngx.req.clear_header("Expect")
    ngx.header["Connection"] = "close"
  end
end

local function finish(status, body)
  ask_for_no_body()
  ngx.status = status
  ngx.header["Content-Type"] = "application/problem+json"
  ngx.header["Content-Length"] = #body
  ngx.print(body)
  return ngx.exit(ngx.HTTP_OK)
end

--- Ends the request with 429.
function M.reject(outcomes)
  ngx.header["Retry-After"] = M.retry_after(outcomes)
  return finish(429, M.problem(outcomes))
end

--- Ends the request with 400 or 403 and a reason.
function M.refuse(status, title, detail)
  return finish(status, cjson.encode({ type = "about:blank", title = title, status = status, detail = detail }))
end

return M
