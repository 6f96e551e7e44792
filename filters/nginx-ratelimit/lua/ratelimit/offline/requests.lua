--- The requests of a test of rules: a CSV file, one line per request, checked as a whole. Pure: no clock, no I/O.
--
-- Columns: `path` and `expect` are needed; `time` (after the start, such as 1.5s; the line before's when empty), `method` (GET
-- when empty), `address` (192.0.2.1), `repeat` (requests at that time, 1), `limit` (which one rejects), `header:NAME`,
-- `variable:NAME`.

local csv = require("ratelimit.offline.csv")
local shape = require("ratelimit.shape")

local M = {}

M.verdicts = { "allowed", "rejected", "denied", "refused" }

local columns = { "time", "method", "path", "address", "repeat", "expect", "limit", "header:NAME", "variable:NAME" }
local allowed_columns, allowed_verdicts = table.concat(columns, ", "), table.concat(M.verdicts, ", ")
local most_repeats, longest = 1e6, 366 * 86400e6

local function set(list)
  local out = {}
  for _, value in ipairs(list) do
    out[value] = true
  end
  return out
end

local known_columns, known_verdicts = set(columns), set(M.verdicts)

local function is_column(name)
  local kind, rest = name:match("^(%a+):(.+)$")
  return (kind == "header" or kind == "variable") and rest ~= "" or known_columns[name] and not name:find(":", 1, true)
end

-- The problems of a file, each with its line.
local function reporter(name)
  local problems = {}
  return problems,
    function(line, message, ...)
      problems[#problems + 1] = ("%s:%d: "):format(name, line) .. message:format(...)
    end
end

local function check_columns(heading, report)
  local has = {}
  for _, column in ipairs(heading) do
    if not is_column(column) then
      report(heading.line, 'no column is called "%s"; allowed: %s', column, allowed_columns)
    elseif has[column] and not column:find("^header:") then
      report(heading.line, 'the column "%s" is there twice', column)
    end
    has[column] = true
  end
  for _, column in ipairs({ "path", "expect" }) do
    if not has[column] then
      report(heading.line, 'the column "%s" is missing', column)
    end
  end
end

local function duration(text)
  local value = shape.microseconds(text)
  return value and value <= longest and value or nil
end

-- The values of a record by column; headers as a list, since one may be there twice.
local function named(heading, record)
  local values, headers, variables = {}, {}, {}
  for i, column in ipairs(heading) do
    local kind, name = column:match("^(%a+):(.+)$")
    local value = record[i]
    if kind == "header" and value ~= "" then
      headers[#headers + 1] = { name = name, value = value }
    elseif kind == "variable" and value ~= "" then
      variables[name] = value
    elseif value ~= "" then
      values[column] = value
    end
  end
  return values, headers, variables
end

local function time_of(values, before, report)
  if not values.time then
    return before
  end
  local time = duration(values.time)
  if not time then
    report("time is %q; write a duration such as 0s, 1.5s or 2m", values.time)
  elseif time < before then
    report("time is %s, before that of an earlier line; requests come in order of time", values.time)
  end
  return time or before
end

local function repeats_of(values, report)
  local text = values["repeat"] or "1"
  local count = text:find("^%d+$") and tonumber(text)
  if not count or count < 1 or count > most_repeats then
    report("repeat is %q; allowed: a whole number from 1 to %d", text, most_repeats)
    return 1
  end
  return count
end

local function check_expectation(values, limits, report)
  if not known_verdicts[values.expect or ""] then
    report("expect is %q; allowed: %s", values.expect or "", allowed_verdicts)
  elseif values.limit and values.expect ~= "rejected" then
    report("limit says who rejects, so it goes with expect rejected only")
  elseif values.limit and not limits[values.limit] then
    local names = {}
    for name in pairs(limits) do
      names[#names + 1] = name
    end
    table.sort(names)
    report("no limit is called %q; the rules have %s", values.limit, table.concat(names, ", "))
  end
end

local function check_request(values, report)
  if not (values.path or ""):find("^/") then
    report("path is %q; write a path that begins with /", values.path or "")
  end
  if values.method and not values.method:find("^%u+$") then
    report("method is %q; write it in capitals", values.method)
  end
end

local function request_of(heading, record, before, limits, report)
  local function here(message, ...)
    report(record.line, message, ...)
  end
  if #record ~= #heading then
    here("has %d fields; the heading has %d", #record, #heading)
    return nil
  end
  local values, headers, variables = named(heading, record)
  check_request(values, here)
  check_expectation(values, limits, here)
  return {
    line = record.line,
    time = time_of(values, before, here),
    repeats = repeats_of(values, here),
    method = values.method or "GET",
    path = values.path,
    address = values.address or "192.0.2.1",
    headers = headers,
    variables = variables,
    expect = values.expect,
    limit = values.limit,
  }
end

--- Reads the requests of a text.
-- @param name what the file is called in messages
-- @param limits the names of the rules' limits, as keys
-- @return a list of requests, or nil and a list of problems
function M.parse(text, name, limits)
  local problems, report = reporter(name)
  local records, line, wrong = csv.parse(text)
  if not records then
    report(line, "%s", wrong)
    return nil, problems
  elseif not records[2] then
    report(1, "has no request; write a heading such as time,method,path,header:X-Api-Key,expect and a line for each")
    return nil, problems
  end
  local heading, requests, before = table.remove(records, 1), {}, 0
  check_columns(heading, report)
  for _, record in ipairs(#problems == 0 and records or {}) do
    local request = request_of(heading, record, before, limits, report)
    requests[#requests + 1], before = request, request and request.time or before
  end
  return #problems == 0 and requests or nil, problems
end

return M
