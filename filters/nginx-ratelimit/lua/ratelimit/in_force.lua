--- The rules in force: read when nginx starts, looked at again every second; bad ones never replace good ones.

local metrics = require("ratelimit.metrics")
local rules = require("ratelimit.rules")
local shape = require("ratelimit.shape")

local M = {}

local path, text, on_change

local function read(name)
  local file, err = io.open(name, "rb")
  if not file then
    return nil, err
  end
  local content = file:read("*a")
  file:close()
  return content
end

M.read = read

--- Reads and checks a file of rules: them, or nil and an explanation of all problems.
function M.load(name)
  local content, err = read(name)
  if not content then
    return nil, name .. " can't be read: " .. tostring(err)
  end
  local parsed, problems = rules.parse(content, read)
  if not parsed then
    return nil, name .. " holds no rules that can be enforced:\n" .. shape.describe(problems), content
  end
  return parsed, nil, content
end

--- Reads the rules before the workers start; nginx does not start on bad ones.
function M.start(name, changed)
  local parsed, err, content = M.load(name)
  if not parsed then
    error("ratelimit: " .. err, 0)
  end
  path, text, on_change = name, content, changed
  on_change(parsed)
  M.current = parsed
end

--- Looks at the file again; takes it over when it has changed and is good.
function M.refresh()
  local content = read(path)
  if content == text or not content then
    return
  end
  text = content
  local parsed, err = M.load(path)
  metrics.add(metrics.series("ratelimit_plan_reloads_total", "result", parsed and "ok" or "bad"))
  if not parsed then
    ngx.log(ngx.ERR, "ratelimit: the rules in force stay: ", err)
    return
  end
  on_change(parsed)
  M.current = parsed
  ngx.log(ngx.NOTICE, "ratelimit: took over ", path)
end

return M
