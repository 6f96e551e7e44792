--- The rules in force: read when nginx starts, looked at again every second; bad ones never replace good ones.
--
-- The files that rules name (secrets, passwords, keys) are looked at with them. What the master could read before it gave up its
-- rights, and a worker can't, stays as it was.

local metrics = require("ratelimit.metrics")
local rules = require("ratelimit.rules")
local shape = require("ratelimit.shape")

local M = {}

local path, on_change
-- What each file held, by name; `false` when it could not be read.
local seen = {}

local not_permitted = 13

-- What a file holds; nil, why, and the system's number where it can't be read. A folder opens, and fails when it is read.
local function read(name)
  local file, err, code = io.open(name, "rb")
  if not file then
    return nil, err, code
  end
  local content, why, number = file:read("*a")
  file:close()
  return content, why and name .. ": " .. why, number
end

-- Reads a file for the rules, and remembers it among `files`.
local function remembering(files)
  return function(name)
    local content, err, code = read(name)
    if code == not_permitted then
      content = seen[name] or nil
    end
    files[name] = content or false
    return content, err
  end
end

-- Reads and checks the rules: them, or nil and an explanation of all problems.
local function load()
  local files = {}
  local look = remembering(files)
  local content, err = look(path)
  if not content then
    return nil, path .. " can't be read: " .. tostring(err)
  end
  local parsed, problems = rules.parse(content, look)
  seen = files
  if not parsed then
    return nil, path .. " holds no rules that can be enforced:\n" .. shape.describe(problems)
  end
  return parsed
end

--- Reads the rules before the workers start; nginx does not start on bad ones.
function M.start(name, changed)
  path, on_change = name, changed
  local parsed, err = load()
  if not parsed then
    error("ratelimit: " .. err, 0)
  end
  on_change(parsed)
  M.current = parsed
end

local function has_changed()
  for name, before in pairs(seen) do
    local content = read(name)
    if content and content ~= before then
      return true
    end
  end
  return false
end

--- Looks at the files again; takes the rules over when one has changed and they are good.
function M.refresh()
  if not has_changed() then
    return
  end
  local parsed, err = load()
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
