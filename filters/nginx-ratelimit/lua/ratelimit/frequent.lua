--- The most frequent keys of a stream, in bounded memory: no key with a large part of the stream is missed.
--
-- Misra and Gries (1982), with the counters taken down in batches as by Anderson et al. (2017). Of n counted units, with room
-- for `most` keys: a key's count is never below the truth, and above it by at most `over`, which is at most n / (most + 1). So
-- each key with more than n / (most + 1) units is there. Between two batches up to twice as many keys are kept.
-- Example: most 1, keys a b a: a counts 2 and b 1; the third key c makes room: b goes, c counts 2, of which 1 is `over`.
-- Pure: no clock, no I/O.

local M = {}
M.__index = M

--- Room for the `most` most frequent keys.
function M.new(most)
  return setmetatable({ most = most, counts = {}, over = {}, size = 0, floor = 0, total = 0 }, M)
end

local function greater(one, other)
  return one > other
end

-- Forgets all but the `most` most frequent; a key that comes again may have been forgotten before.
local function make_room(self)
  local sorted, alike = {}, self.most
  for _, count in pairs(self.counts) do
    sorted[#sorted + 1] = count
  end
  table.sort(sorted, greater)
  local floor = sorted[self.most + 1]
  for i = 1, self.most do
    alike = sorted[i] > floor and alike - 1 or alike
  end
  for key, count in pairs(self.counts) do
    if count == floor then
      alike = alike - 1
    end
    if count < floor or count == floor and alike < 0 then
      self.counts[key], self.over[key], self.size = nil, nil, self.size - 1
    end
  end
  self.floor = floor
end

--- Counts `units` of a key.
function M:add(key, units)
  self.total = self.total + units
  local count = self.counts[key]
  if count then
    self.counts[key] = count + units
    return
  end
  if self.size >= 2 * self.most then
    make_room(self)
  end
  self.counts[key], self.over[key], self.size = self.floor + units, self.floor, self.size + 1
end

--- Forgets all keys but the `most` most frequent.
function M:compact()
  if self.size > self.most then
    make_room(self)
  end
  return self
end

--- The summary of two streams together: what either has forgotten counts as much as it may have been.
function M:merge(other)
  local merged = M.new(self.most)
  for _, pair in ipairs({ { self, other }, { other, self } }) do
    local mine, theirs = pair[1], pair[2]
    for key, count in pairs(mine.counts) do
      merged.counts[key] = count + (theirs.counts[key] or theirs.floor)
      merged.over[key] = mine.over[key] + (theirs.over[key] or theirs.floor)
    end
  end
  merged.floor, merged.total = self.floor + other.floor, self.total + other.total
  for _ in pairs(merged.counts) do
    merged.size = merged.size + 1
  end
  return merged
end

--- The most frequent keys, the first the most frequent: a list of { key, count, over }.
function M:top()
  local list = {}
  for key, count in pairs(self.counts) do
    list[#list + 1] = { key = key, count = count, over = self.over[key] }
  end
  table.sort(list, function(one, other)
    return one.count > other.count or one.count == other.count and one.key < other.key
  end)
  for i = #list, self.most + 1, -1 do
    list[i] = nil
  end
  return list
end

return M
