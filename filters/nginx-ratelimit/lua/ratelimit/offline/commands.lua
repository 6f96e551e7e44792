--- The command `ratelimit`: check, test and report, over files alone. Nothing listens, nothing is sent.

-- Before the filter's own modules, for some of which it stands in.
require("ratelimit.offline.world")
local cjson = require("cjson.safe")
local report = require("ratelimit.offline.report")
local requests = require("ratelimit.offline.requests")
local rules = require("ratelimit.rules")
local shape = require("ratelimit.shape")
local test = require("ratelimit.offline.test")

local M = {}

local done, differs, misused = 0, 1, 2
-- Bytes of a file that is read as a whole; a device has no end.
local longest = 64 * 1024 * 1024
-- A midnight (UTC), so that every window begins at the time 0.
local default_start = "2023-11-14"

local help = [[
ratelimit: checks and tests rules of the rate-limiting filter, and reports on its decision logs.

  ratelimit check PLAN                          list every problem of the rules
  ratelimit test PLAN REQUESTS [--enforce] [--start 2023-11-14] [--json]
                                                decide requests from a CSV file, and compare with what they expect
  ratelimit report LOG... [--top 20]            who was rejected, or would have been in a dry run; LOG: decisions-*.tsv

REQUESTS has a heading and one line per request:

  time,method,path,header:X-Api-Key,repeat,expect,limit
  0s,GET,/products,ann,100,allowed,
  0s,GET,/products,ann,,rejected,per_client

  path, expect     needed; expect is allowed, rejected (429), denied (403) or refused (400)
  time             after the start, such as 1.5s; that of the line before when empty
  method, address  GET and 192.0.2.1 when empty
  repeat           the number of such requests at that time, each as expected; 1 when empty
  limit            which limit rejects
  header:NAME      a header of the request; twice, when it is sent twice
  variable:NAME    a variable of nginx

--enforce tests shadow limits and a dry run as if they rejected. --start is the day of the time 0, at midnight UTC:
tokens are valid or not by it, and every window begins there. Leases are not tested: each request asks its store.
--json prints one JSON object: requests, lines, wrong (what was decided otherwise), limits (their counts), problems.

Exit codes: 0 as expected, 1 not as expected, 2 a file or an option that can't be used.
]]

-- A file to read; nil and a reason when there is none. A folder opens, and fails when it is read.
local function opened(name)
  local file, err = io.open(name, "rb")
  if not file then
    return nil, err
  end
  local _, why = file:read(0)
  if why then
    file:close()
    return nil, name .. ": " .. why
  end
  return file
end

local function read(name)
  local file, err = opened(name)
  if not file then
    return nil, err
  end
  local content, why = file:read(longest + 1)
  file:close()
  if content and #content > longest then
    return nil, ("%s: is longer than %d bytes"):format(name, longest)
  end
  return content or "", why
end

local function fail(message)
  error({ message = message }, 0)
end

local function content_of(name)
  local content, err = read(name)
  return content or fail(err)
end

local function rules_of(name)
  local parsed, problems = rules.parse(content_of(name), read)
  if not parsed then
    fail(name .. " holds no rules that can be enforced:\n" .. shape.describe(problems))
  end
  return parsed
end

-- Days since 1970 of a date of the Gregorian calendar (Hinnant, chrono-compatible date algorithms).
local function days(year, month, day)
  local y = month <= 2 and year - 1 or year
  local era = math.floor(y / 400)
  local of_era = y - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

local function microseconds_of(date)
  local year, month, day = date:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)$")
  if not year or tonumber(month) < 1 or tonumber(month) > 12 or tonumber(day) < 1 or tonumber(day) > 31 then
    fail(("--start is %q; write a day such as %s"):format(date, default_start))
  end
  return days(tonumber(year), tonumber(month), tonumber(day)) * 86400e6
end

local function whole(text, option)
  local value = text:find("^%d+$") and tonumber(text)
  return value and value >= 1 and value or fail(("%s is %q; write a whole number from 1"):format(option, text))
end

-- Options with (true) or without a value, taken out of the arguments.
local function split(arguments, known)
  local options, rest, i = {}, {}, 1
  while i <= #arguments do
    local word = arguments[i]
    if known[word] == nil and word:find("^%-%-") then
      fail(("no option is called %s; see ratelimit --help"):format(word))
    elseif known[word] then
      i = i + 1
      options[word] = arguments[i] or fail(word .. " needs a value; see ratelimit --help")
    elseif known[word] == false then
      options[word] = true
    else
      rest[#rest + 1] = word
    end
    i = i + 1
  end
  return options, rest
end

local function names_of(parsed)
  local names = {}
  for _, limit in ipairs(parsed.limits) do
    names[limit.name] = true
  end
  return names
end

local function is_any_shadow(parsed)
  for _, limit in ipairs(parsed.limits) do
    if not limit.binding then
      return true
    end
  end
  return false
end

local commands = {}

function commands.check(arguments, out)
  local _, rest = split(arguments, {})
  if #rest ~= 1 then
    fail("write: ratelimit check PLAN")
  end
  local parsed = rules_of(rest[1])
  local dry = parsed.dry_run and "; a dry run: nobody is rejected" or ""
  out:write(("%s: rules that can be enforced; limits: %d%s\n"):format(rest[1], #parsed.limits, dry))
  return done
end

function commands.test(arguments, out, err)
  local options, rest = split(arguments, { ["--enforce"] = false, ["--json"] = false, ["--start"] = true })
  if #rest ~= 2 then
    fail("write: ratelimit test PLAN REQUESTS")
  end
  local parsed, start = rules_of(rest[1]), microseconds_of(options["--start"] or default_start)
  local list, problems = requests.parse(content_of(rest[2]), rest[2], names_of(parsed))
  if not list then
    fail(table.concat(problems, "\n"))
  end
  if is_any_shadow(parsed) and not options["--enforce"] then
    err:write("note: some limits are shadows and reject nobody; --enforce tests what they would reject\n")
  end
  local result = test.run(parsed, list, start, options["--enforce"])
  out:write((options["--json"] and test.as_json or test.describe)(parsed, result, rest[2]), "\n")
  return #result.wrong == 0 and done or differs
end

function commands.report(arguments, out, err)
  local options, rest = split(arguments, { ["--top"] = true })
  if #rest == 0 then
    fail("write: ratelimit report LOG...")
  end
  local limits, most = {}, whole(options["--top"] or "20", "--top")
  for _, name in ipairs(rest) do
    local file, why = opened(name)
    if not file then
      fail(why)
    end
    report.read(file:lines(), limits, function(line, message)
      err:write(("%s:%d: %s; it is left out\n"):format(name, line, message))
    end)
    file:close()
  end
  out:write(next(limits) and report.describe(limits, most) or "No decision was logged.", "\n")
  return done
end

local function asks_for_json(arguments)
  for _, word in ipairs(arguments) do
    if word == "--json" then
      return true
    end
  end
  return false
end

--- Runs a command line; returns the exit code.
function M.run(arguments, out, err)
  local name = arguments[1] or "--help"
  if name == "--help" or name == "-h" then
    out:write(help)
    return done
  end
  local ok, code = pcall(function()
    local command = commands[name] or fail(("no command is called %s; allowed: check, test, report"):format(name))
    return command({ unpack(arguments, 2) }, out, err)
  end)
  if ok then
    return code
  elseif type(code) ~= "table" then
    error(code, 0)
  end
  err:write("ratelimit: ", code.message, "\n")
  if asks_for_json(arguments) then
    out:write(cjson.encode({ problems = { { message = code.message } } }), "\n")
  end
  return misused
end

return M
