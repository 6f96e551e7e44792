--- Each caller's part of the answer to a bundle: the status and the body of the caller's item.
--
-- Pure. A bundle that fails as a whole fails each item with its status, unless it reports each. An item that a good answer lacks
-- gets a 502, and an answer that isn't a bundle's is a 502 for all.

local items = require("bundle.items")

local M = {}

local problem_type = "application/problem+json"

-- Of the connection, or of the bundle's own body. A cookie would be given to all callers who have none yet, and may be several.
local of_the_bundle = {}
for name in
  ([[connection keep-alive proxy-connection transfer-encoding trailer upgrade content-length content-type content-encoding
  content-range content-md5 content-digest repr-digest digest etag last-modified accept-ranges date server
  set-cookie]]):gmatch("%S+")
do
  of_the_bundle[name] = true
end

local function kept(headers)
  local list = {}
  for name, value in pairs(headers) do
    if not of_the_bundle[name:lower()] then
      list[name] = value
    end
  end
  return list
end

local titles = { [502] = "Bad Gateway", [503] = "Service Unavailable", [504] = "Gateway Timeout" }

--- An answer that this proxy gives itself (RFC 9457).
function M.problem(status, detail)
  local title = titles[status] or "Upstream failed"
  local body = ('{"type":"about:blank","title":"%s","status":%d,"detail":"%s"}'):format(title, status, detail)
  return { status = status, kind = problem_type, body = body, headers = {} }
end

local function is_good(status)
  return status >= 200 and status < 300
end

-- The same for everyone: the whole answer, or what became of it where it did not come whole.
local function whole(answer)
  if answer.truncated then
    return M.problem(is_good(answer.status) and 502 or answer.status, "no whole answer came")
  end
  local kind = answer.headers["Content-Type"]
  return { status = answer.status, kind = kind, body = answer.body, headers = kept(answer.headers) }
end

local function share(item, headers)
  local kind = item.status >= 400 and problem_type or "application/json"
  return { status = item.status, kind = item.body ~= "" and kind or nil, body = item.body, headers = headers }
end

local function shares(answer, by_id)
  local headers, lacking = kept(answer.headers), M.problem(502, "the answer to a bundle lacks this item")
  if not is_good(answer.status) then
    lacking = whole(answer)
  end
  return function(id)
    return by_id[id] and share(by_id[id], headers) or lacking
  end
end

--- What the callers of a bundle get: a function of the id that one asked for.
-- @param answer `status`, `headers` (by name), `body`, and `truncated` where the body is not whole
function M.of_bundle(answer)
  local by_id = not answer.truncated and items.read(answer.body)
  if by_id then
    return shares(answer, by_id)
  end
  local same = whole(answer)
  if is_good(answer.status) then
    same = M.problem(502, "the answer to a bundle cannot be read")
  end
  return function()
    return same
  end
end

--- What the callers get who all asked for the same one thing: its answer, whole.
function M.of_one(answer)
  local same = whole(answer)
  return function()
    return same
  end
end

return M
