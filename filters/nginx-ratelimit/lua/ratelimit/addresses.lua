--- Clients' addresses as keys: who holds one IPv6 address holds all of its network, and IPv4 has one spelling.
-- Pure: no clock, no I/O.

local bit = require("bit")

local find, gmatch, match = string.find, string.gmatch, string.match

local M = {}

-- A /64 is the smallest network that a customer is given (RFC 6177, RFC 7421).
M.prefix = 64

local function of_ipv4(text)
  local bytes = { match(text, "^(%d+)%.(%d+)%.(%d+)%.(%d+)$") }
  for i = 1, 4 do
    local value = bytes[i] and #bytes[i] <= 3 and tonumber(bytes[i])
    if not value or value > 255 then
      return nil
    end
    bytes[i] = value
  end
  return bytes
end

-- The groups of 16 bits in one side of `::`; nil when there is something else.
local function groups_of(text)
  local groups = {}
  for part in gmatch(text, "[^:]+") do
    local bytes = find(part, ".", 1, true) and of_ipv4(part)
    if bytes then
      groups[#groups + 1], groups[#groups + 2] = bytes[1] * 256 + bytes[2], bytes[3] * 256 + bytes[4]
    elseif find(part, "^%x%x?%x?%x?$") then
      groups[#groups + 1] = tonumber(part, 16)
    else
      return nil
    end
  end
  return groups
end

-- The eight groups of an IPv6 address; nil when a text isn't one. A zone (`%eth0`) isn't part of it.
local function of_ipv6(text)
  local plain = match(text, "^[^%%]*")
  local gap = find(plain, "::", 1, true)
  local head = groups_of(gap and plain:sub(1, gap - 1) or plain)
  local tail = groups_of(gap and plain:sub(gap + 2) or "")
  if not head or not tail or (gap and #head + #tail > 7 or not gap and #head ~= 8) then
    return nil
  end
  local groups = {}
  for i = 1, 8 do
    groups[i] = head[i] or tail[i - 8 + #tail] or 0
  end
  return groups
end

local function begins(groups, first, second, sixth)
  return groups[1] == first and groups[2] == second and groups[3] + groups[4] + groups[5] == 0 and groups[6] == sixth
end

local function in_four(high, low)
  return ("%d.%d.%d.%d"):format(bit.rshift(high, 8), bit.band(high, 255), bit.rshift(low, 8), bit.band(low, 255))
end

-- IPv4 within IPv6: mapped (RFC 4291, ::ffff:0:0/96), translated in front of servers that have IPv6 alone (RFC 6052), and the
-- 65,536 networks that the owner of an IPv4 address can make of it (6to4, RFC 3056, 2002::/16).
local function ipv4_within(groups)
  if begins(groups, 0, 0, 0xffff) or begins(groups, 0x64, 0xff9b, 0) then
    return in_four(groups[7], groups[8])
  elseif groups[1] == 0x2002 then
    return in_four(groups[2], groups[3])
  end
end

local function network(groups, prefix)
  local words = {}
  for i = 1, math.ceil(prefix / 16) do
    local bits = math.min(16, prefix - 16 * (i - 1))
    words[i] = ("%x"):format(bit.band(groups[i], bit.lshift(0xffff, 16 - bits)))
  end
  return table.concat(words, ":") .. (prefix > 112 and "" or "::") .. (prefix < 128 and "/" .. prefix or "")
end

--- The key of an address: IPv4 as it is, IPv6 by its first `prefix` bits (`2001:db8:0:1::/64`). Other texts stay.
function M.key(text, prefix)
  if not find(text, ":", 1, true) then
    return text
  end
  local groups = of_ipv6(text)
  return groups and (ipv4_within(groups) or network(groups, prefix)) or text
end

--- The key of an address or of a network as rules write it; nil when no client has it.
function M.listed(text, prefix)
  local plain, bits = match(text, "^(.-)/(%d+)$")
  if bits and tonumber(bits) ~= prefix then
    return nil
  end
  local groups = of_ipv6(plain or text)
  if groups then
    return M.key(plain or text, prefix)
  end
  return not bits and of_ipv4(text) and text or nil
end

return M
