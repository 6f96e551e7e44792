--- What a server's clock shows at a moment of ours, as far as its answers told. Pure: no clock, no I/O.
--
-- An answer says a time of the server that lies between the sending of its question and its arrival here. Taken from the
-- sending, our idea of the server's clock is never behind it, and ahead by no more than the quickest exchange took.

local M = {}
M.__index = M

--- A clock of which nothing is known yet.
function M.new()
  return setmetatable({ ahead = nil }, M)
end

--- What the server's clock shows at a moment on the steady clock, in whole microseconds; -1 when that is not known.
function M:at(moment)
  return self.ahead and math.floor(moment + self.ahead) or -1
end

--- Learns from an answer what the server's clock showed (`said`) between two moments on the steady clock.
function M:learn(began, said, arrived)
  local is_possible = self.ahead and self.ahead >= said - arrived and self.ahead <= said - began
  self.ahead = is_possible and self.ahead or said - began
end

--- Knows nothing any more: the server's clock was stepped, or it is another server.
function M:forget()
  self.ahead = nil
end

return M
