--- The rules in force: read when nginx starts, looked at again ten times per second; bad ones never replace good ones.

local rules = require("bundle.rules")

local M = {}

local path, text

local function read()
  local file, err = io.open(path, "rb")
  if not file then
    return nil, err
  end
  local content, why = file:read("*a") -- a folder opens, and fails when it is read
  file:close()
  return content, why and path .. ": " .. why
end

local function parsed(content, err)
  if not content then
    return nil, path .. " can't be read: " .. tostring(err)
  end
  local good, problems = rules.parse(content)
  if not good then
    return nil, path .. " holds no rules that can be followed:\n" .. table.concat(problems, "\n")
  end
  return good
end

--- Reads the rules before the workers start; nginx does not start on bad ones.
function M.start(name)
  path = name
  local content, err = read()
  local good, why = parsed(content, err)
  if not good then
    error("bundle: " .. why, 0)
  end
  M.current, text = good, content
end

--- Looks at the file again, and takes it over when it has changed and is good. Says whether it did.
function M.refresh()
  local content = read()
  if content == text or not content then
    return false
  end
  text = content
  local good, why = parsed(content)
  if not good then
    ngx.log(ngx.ERR, "bundle: the rules in force stay: ", why)
    return false
  end
  M.current = good
  return true
end

return M
