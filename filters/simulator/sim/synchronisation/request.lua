--- Every request asks the store.

local M = {}
M.__index = M

function M.new(store)
  return setmetatable({ store = store, asked = 0 }, M)
end

--- @return whether the request passes
function M:decide(now, balancer, cost)
  self.asked = self.asked + 1
  return (self.store:ask(balancer, "take", now, cost))
end

return M
