--- Reads a bundle's answer: `{"items": [{"id": .., "status": .., "body": ..}, ..]}`, with each body byte for byte as it came.
--
-- Pure. Bodies are cut out of the text and never rewritten: a decoder makes 1e16 of 10000000000000001 and {} of [].
-- The decoder says first that the text is JSON; then brackets and quotes alone tell where a value ends.

local json = require("cjson.safe").new()
json.decode_invalid_numbers(false)

local M = {}

local quote, close_list = ('"'):byte(), ("]"):byte()

local function after_text(text, from)
  local at = from + 1
  while true do
    at = text:find('["\\]', at)
    if text:byte(at) == quote then
      return at + 1
    end
    at = at + 2
  end
end

local function after_brackets(text, from)
  local depth, at = 0, from
  repeat
    at = text:find('["{}%[%]]', at)
    local sign = text:sub(at, at)
    if sign == '"' then
      at = after_text(text, at)
    else
      depth = depth + ((sign == "{" or sign == "[") and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

-- Where the value ends that begins at a place: the first character after it.
local function after_value(text, from)
  local first = text:sub(from, from)
  if first == '"' then
    return after_text(text, from)
  elseif first == "{" or first == "[" then
    return after_brackets(text, from)
  end
  return text:find("[%s,%]}]", from) or #text + 1
end

-- Where the value of each member of an object begins and where it is over, by name.
local function members(text, from)
  local places, at = {}, text:find("%S", from + 1)
  while text:byte(at) == quote do
    local name_end = after_text(text, at)
    local value = text:find("%S", text:find(":", name_end, true) + 1)
    local stop = after_value(text, value)
    places[json.decode("[" .. text:sub(at, name_end - 1) .. "]")[1]] = { value, stop }
    at = text:find("[^%s,]", stop)
  end
  return places
end

-- Where each entry of a list begins.
local function entries(text, from)
  local places, at = {}, text:find("%S", from + 1)
  while text:byte(at) ~= close_list do
    places[#places + 1] = at
    at = text:find("[^%s,]", after_value(text, at))
  end
  return places
end

local function is_status(status)
  return type(status) == "number" and status >= 200 and status <= 599 and status % 1 == 0
end

local function cut(text, place)
  return place and text:sub(place[1], place[2] - 1)
end

-- An item of the answer: its id as a text, its status, its body as it came; nil if it is not whole.
local function item(text, at, decoded)
  if type(decoded) ~= "table" or not is_status(decoded.status) then
    return nil
  end
  local places, id = members(text, at), decoded.id
  if type(id) == "number" then
    id = cut(text, places.id)
  end
  local body = cut(text, places.body)
  return type(id) == "string" and id, { status = decoded.status, body = body ~= "null" and body or "" }
end

--- The items of an answer by their ids, the first of an id that occurs twice; nil if the text isn't a bundle's answer.
function M.read(text)
  local decoded = json.decode(text)
  if type(decoded) ~= "table" or type(decoded.items) ~= "table" then
    return nil
  end
  local list = members(text, text:find("%S")).items[1]
  if text:sub(list, list) ~= "[" then
    return nil
  end
  local by_id = {}
  for i, at in ipairs(entries(text, list)) do
    local id, one = item(text, at, decoded.items[i])
    if id and not by_id[id] then
      by_id[id] = one
    end
  end
  return by_id
end

return M
