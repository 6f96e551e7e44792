--- Tests rules: decides requests from a file by the filter's own code, and holds each to what was expected.

local world = require("ratelimit.offline.world")
local cjson = require("cjson.safe")
local deciding = require("ratelimit.deciding")
local subjects = require("ratelimit.subjects")

local M = {}

local function each_variant(limit)
  local list = { limit }
  for _, tier in pairs(limit.by_tier) do
    list[#list + 1] = tier
  end
  return list
end

-- The rules as they are tested: no leases, and with `enforce` as if nothing were a shadow.
local function prepare(rules, enforce)
  rules.binding = rules.binding or enforce
  for _, limit in ipairs(rules.limits) do
    for _, variant in ipairs(each_variant(limit)) do
      variant.lease = nil
      variant.binding = variant.binding or enforce
    end
  end
end

local function rejecting(outcomes)
  local names = {}
  for _, outcome in ipairs(outcomes) do
    if outcome.rejects then
      names[#names + 1] = outcome.limit.label or outcome.limit.name
    end
  end
  return names
end

-- What becomes of a request: a verdict, the names of the limits that reject it, and their outcomes.
local function decide(rules)
  local found, refused = nil, subjects.unclear_target(rules)
  if not refused then
    found, refused = subjects.all(rules)
  end
  if refused then
    return { verdict = refused.status == 403 and "denied" or "refused", by = {}, outcomes = {}, detail = refused.detail }
  end
  local outcomes, stop = deciding.all(found)
  return { verdict = stop and "rejected" or "allowed", by = rejecting(outcomes), outcomes = outcomes }
end

local function is_as_expected(request, decided)
  if decided.verdict ~= request.expect then
    return false
  end
  return not request.limit or (" " .. table.concat(decided.by, " ") .. " "):find(" " .. request.limit .. " ", 1, true) ~= nil
end

local function count(counts, outcomes)
  for _, outcome in ipairs(outcomes) do
    local counted = counts[outcome.limit.label or outcome.limit.name]
    local kind = not outcome.allowed and "rejected" or outcome.withdrawn and "withdrawn" or "allowed"
    counted[kind] = counted[kind] + 1
  end
end

-- Decides a line's requests; the first that is not as expected, with its number on the line, or nil.
local function run_line(rules, request, start, counts)
  local wrong
  for number = 1, request.repeats do
    world.begin(request, start + request.time)
    local decided = decide(rules)
    count(counts, decided.outcomes)
    if not wrong and not is_as_expected(request, decided) then
      wrong = { request = request, decided = decided, number = number }
    end
  end
  return wrong
end

--- Tests rules with requests.
-- @param start microseconds since 1970 of the time 0
-- @param enforce whether shadow limits and dry runs reject, as they would
-- @return `lines` and `requests` (how many), `wrong` (a list of { request, decided, number }), `counts` by limit
function M.run(rules, requests, start, enforce)
  prepare(rules, enforce)
  world.forget()
  local result = { lines = #requests, requests = 0, wrong = {}, counts = {} }
  for _, limit in ipairs(rules.limits) do
    result.counts[limit.name] = { allowed = 0, rejected = 0, withdrawn = 0 }
  end
  for _, request in ipairs(requests) do
    result.wrong[#result.wrong + 1] = run_line(rules, request, start, result.counts)
    result.requests = result.requests + request.repeats
  end
  return result
end

-- For programs. ------------------------------------------------------------------------------------------------------

local function wrong_as_json(wrong)
  local request, decided = wrong.request, wrong.decided
  return cjson.encode({
    line = request.line,
    number = wrong.number,
    method = request.method,
    path = request.path,
    time_s = request.time / 1e6,
    expected = request.expect,
    expected_by = request.limit,
    got = decided.verdict,
    got_by = decided.by[1] and decided.by,
    detail = decided.detail,
  })
end

local function counts_as_json(limit, counted)
  return cjson.encode({
    name = limit.name,
    allowed = counted.allowed,
    rejected = counted.rejected,
    withdrawn = counted.withdrawn,
  })
end

--- The result as one JSON object. Its lists are put together here: lua-cjson writes an empty list as an empty object.
function M.as_json(rules, result)
  local wrong, limits = {}, {}
  for _, one in ipairs(result.wrong) do
    wrong[#wrong + 1] = wrong_as_json(one)
  end
  for _, limit in ipairs(rules.limits) do
    limits[#limits + 1] = counts_as_json(limit, result.counts[limit.name])
  end
  return ('{"requests":%d,"lines":%d,"wrong":[%s],"limits":[%s]}'):format(
    result.requests,
    result.lines,
    table.concat(wrong, ","),
    table.concat(limits, ",")
  )
end

-- For people. --------------------------------------------------------------------------------------------------------

local function who(request)
  local parts = { request.method .. " " .. request.path, "from " .. request.address }
  for _, header in ipairs(request.headers) do
    parts[#parts + 1] = header.name .. ": " .. header.value
  end
  return table.concat(parts, ", ")
end

local function outcome_in_words(outcome)
  local limit, said = outcome.limit, outcome.allowed and "allowed it" or "rejected it"
  if outcome.withdrawn then
    said = "would have allowed it"
  end
  if not outcome.allowed and not outcome.rejects then
    said = "would have rejected it (shadow)"
  end
  return ("    %s %s: %d of %d left"):format(limit.label or limit.name, said, outcome.remaining, limit.limit)
end

local function expected(request)
  return request.expect .. (request.limit and " by " .. request.limit or "")
end

local function got(decided)
  return decided.verdict .. (decided.by[1] and " by " .. table.concat(decided.by, ", ") or "")
end

local function describe(wrong, name)
  local request, decided = wrong.request, wrong.decided
  local which = request.repeats > 1 and (", request %d of %d"):format(wrong.number, request.repeats) or ""
  local lines = {
    ("%s:%d: expected %s, got %s"):format(name, request.line, expected(request), got(decided)),
    ("    %s, at %gs%s"):format(who(request), request.time / 1e6, which),
  }
  for _, outcome in ipairs(decided.outcomes) do
    lines[#lines + 1] = outcome_in_words(outcome)
  end
  lines[#lines + 1] = decided.detail and "    " .. decided.detail or nil
  if not decided.outcomes[1] and not decided.detail then
    lines[#lines + 1] = "    no limit counts it"
  end
  return table.concat(lines, "\n")
end

local function counts_in_words(rules, counts)
  local lines = { ("%-24s %9s %9s %9s"):format("limit", "allowed", "rejected", "withdrawn") }
  for _, limit in ipairs(rules.limits) do
    local counted = counts[limit.name]
    local none = counted.allowed + counted.rejected + counted.withdrawn == 0 and "  no request was counted" or ""
    lines[#lines + 1] = ("%-24s %9d %9d %9d%s"):format(limit.name, counted.allowed, counted.rejected, counted.withdrawn, none)
  end
  return table.concat(lines, "\n")
end

--- The result in words.
function M.describe(rules, result, name)
  local parts = {}
  for _, wrong in ipairs(result.wrong) do
    parts[#parts + 1] = describe(wrong, name)
  end
  parts[#parts + 1] = counts_in_words(rules, result.counts)
  parts[#parts + 1] = ("%s: %d requests on %d lines; %d lines as expected, %d not"):format(
    name,
    result.requests,
    result.lines,
    result.lines - #result.wrong,
    #result.wrong
  )
  return table.concat(parts, "\n")
end

return M
