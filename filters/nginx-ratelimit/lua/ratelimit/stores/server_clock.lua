--- Until when a server may answer, on its own clock, as far as its answers told. Pure: no clock, no I/O.
--
-- An answer says a time of the server that lies between the sending of its question and its arrival here. Taken from the
-- arrival, and from the quickest of them, this says when an answer has to leave the server to be here in time: one that leaves
-- later comes too late, unless it is quicker than all before.

local M = {}
M.__index = M

--- A clock of which nothing is known yet.
function M.new()
  return setmetatable({ ahead = nil }, M)
end

--- What the server's clock shows, in whole microseconds, when an answer has to leave that is here at a moment on the steady
-- clock; -1 when that is not known.
function M:before(moment)
  return self.ahead and math.floor(moment + self.ahead) or -1
end

--- Learns from an answer what the server's clock showed (`said`) between two moments on the steady clock.
function M:learn(began, said, arrived)
  local is_possible = self.ahead and self.ahead >= said - arrived and self.ahead <= said - began
  self.ahead = is_possible and self.ahead or said - arrived
end

--- Knows nothing any more: the server's clock was stepped, or it is another server.
function M:forget()
  self.ahead = nil
end

return M
