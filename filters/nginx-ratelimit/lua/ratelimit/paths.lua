--- The paths that servers could read in a request's target, next to the one that nginx routes.
--
-- nginx sends a target on as the client wrote it, and servers disagree about what it says. A limit on a path counts a request
-- when the plain path (decoded, slashes merged, dots resolved) or that of any server behind is under its prefix. What none of
-- them could read costs nothing more: most targets are their own path.
-- Pure: no clock, no I/O; linear in the target.

local byte, find, gmatch, gsub = string.byte, string.find, string.gmatch, string.gsub
local lower, match, sub = string.lower, string.match, string.sub

local M = {}

-- In what each server differs from nginx:
--   written      `.` and `..` stay as they are
--   parameters   `;...` in a segment is cut before dots are resolved (so `..;` leads up)
--   backslashes  `\` is a slash
--   authority    what follows two slashes at the beginning is a host
--   blanks       bytes at the target's end that are blanks in Latin-1 aren't part of it (Python's server splits the line there)
M.servers = {
  aspnet = { backslashes = true },
  flask = { written = true, blanks = true },
  go = { written = true },
  node = { written = true, backslashes = true, authority = true },
  php = { written = true },
  tomcat = { parameters = true, backslashes = true },
}

--- The names of the servers whose reading is known.
M.names = {}
for name in pairs(M.servers) do
  M.names[#M.names + 1] = name
end
table.sort(M.names)

--- All in which any of these servers differs from nginx.
function M.differences(names)
  local all = {}
  for _, name in ipairs(names) do
    for difference in pairs(M.servers[name]) do
      all[difference] = true
    end
  end
  return all
end

local characters = {}
for code = 0, 255 do
  local low, high = ("%02x"):format(code), ("%02X"):format(code)
  for _, digits in ipairs({ low, high, low:sub(1, 1) .. high:sub(2), high:sub(1, 1) .. low:sub(2) }) do
    characters[digits] = string.char(code)
  end
end

--- A text without percent-encoding.
function M.decoded(text)
  return find(text, "%", 1, true) and gsub(text, "%%(%x%x)", characters) or text
end

local function merged(path)
  return find(path, "//", 1, true) and gsub(path, "//+", "/") or path
end

--- A path with its slashes merged, and `.` and `..` resolved.
function M.resolved(path)
  if not find(path, "//", 1, true) and not find(path, "/.", 1, true) then
    return path
  end
  local parts, count = {}, 0
  for part in gmatch(path, "[^/]+") do
    if part == ".." then
      parts[count], count = nil, count > 0 and count - 1 or 0
    elseif part ~= "." then
      parts[count + 1], count = part, count + 1
    end
  end
  local ends = count > 0 and (sub(path, -1) == "/" or sub(path, -2) == "/." or sub(path, -3) == "/..") and "/" or ""
  return "/" .. table.concat(parts, "/", 1, count) .. ends
end

local function without_parameters(path)
  return find(path, ";", 1, true) and gsub(path, ";[^/]*", "") or path
end

local function with_slashes(path)
  return find(path, "\\", 1, true) and gsub(path, "\\", "/") or path
end

local function without_authority(path)
  return gsub(path, "^[/\\][/\\]+[^/\\]*", "")
end

-- What follows from one text that a server decodes: itself, and with backslashes as slashes. Servers agree about most texts,
-- so what was added last is not worked out again.
local function add(list, path, differences, resolve)
  if list.last == path then
    return
  end
  local finish = resolve and M.resolved or merged
  list[#list + 1], list.last = finish(path), path
  if differences.backslashes and find(path, "\\", 1, true) then
    list[#list + 1] = finish(with_slashes(path))
  end
end

-- The path in a target as the client wrote it.
local function path_of(target, routed)
  local path = target and match(target, "^[^?#]*") or routed
  return byte(path) == 47 and path or routed
end

local function is_blank(char)
  return char == 0x85 or char == 0xa0
end

--- A target without the bytes at its end that are blanks in Latin-1.
function M.without_blanks(target)
  local last = #target
  while last > 0 and is_blank(byte(target, last)) do
    last = last - 1
  end
  return sub(target, 1, last)
end

local function is_plain(routed, target)
  if find(routed, ";", 1, true) or find(routed, "\\", 1, true) then
    return false
  end
  local next = byte(target, #routed + 1)
  return (next == 63 or next == nil and not is_blank(byte(target, -1))) and sub(target, 1, #routed) == routed
end

-- Adds the paths that servers could read in what a client wrote.
local function add_readings(list, written, routed, differences)
  local decoded = M.decoded(written)
  if differences.written then
    add(list, decoded, differences, false)
    list.last = nil
  end
  add(list, decoded, differences, true)
  if differences.parameters then
    add(list, M.decoded(without_parameters(written)), differences, true)
    add(list, without_parameters(decoded), differences, true)
    add(list, without_parameters(routed), differences, true)
  end
  if differences.authority and find(written, "^[/\\][/\\]") then
    add(list, M.decoded(without_authority(written)), differences, true)
  end
end

--- The paths that servers with these differences could read next to `routed`; nil when there are none.
-- @param routed the path that nginx routes: decoded, slashes merged, dots resolved
-- @param target the request's target as the client wrote it, with its query
function M.others(routed, target, differences)
  if is_plain(routed, target) then
    return nil
  end
  local list = {}
  add_readings(list, path_of(target, routed), routed, differences)
  if differences.blanks and is_blank(byte(target, -1)) then
    add_readings(list, path_of(M.without_blanks(target), routed), routed, differences)
  end
  return list
end

-- A prefix ends where a segment of the path ends: `/login` holds for `/login` and `/login/x`, not for `/loginx`.
-- What follows a `;` in a segment is a parameter to servers in Java.
local function begins(path, prefix)
  if sub(path, 1, #prefix) ~= prefix then
    return false
  end
  local next = byte(path, #prefix + 1)
  return next == nil or next == 47 or next == 59 or byte(prefix, -1) == 47
end

--- Whether a path, or one of the `others`, is under a limit's prefix.
-- @param ignore_case whether the prefix, in small letters, holds for a path in any case
function M.is_under(path, others, prefix, ignore_case)
  if begins(ignore_case and lower(path) or path, prefix) then
    return true
  end
  for i = 1, others and #others or 0 do
    if begins(ignore_case and lower(others[i]) or others[i], prefix) then
      return true
    end
  end
  return false
end

--- What is wrong with a prefix that no path can be under; nil when there is nothing.
function M.never(prefix)
  if find(prefix, "[?#]") then
    return "no path has a ? or a #; leave out what begins there"
  elseif find(prefix, "%z") then
    return "nginx takes no path with a NUL"
  elseif find(prefix, "%%%x%x") then
    return ('paths are compared decoded: write "%s"'):format(M.decoded(prefix))
  elseif M.resolved(prefix) ~= prefix then
    return ('paths are compared with their dots resolved and slashes merged: write "%s"'):format(M.resolved(prefix))
  end
end

return M
