--- Which balancer gets a client's next request: each kind gives a function that says a number from 1 to `balancers`.

local M = { names = { "round_robin", "random", "sticky" } }

function M.round_robin(stream, balancers)
  local at = stream:whole(balancers)
  return function()
    at = at % balancers + 1
    return at
  end
end

function M.random(stream, balancers)
  return function()
    return stream:whole(balancers)
  end
end

function M.sticky(stream, balancers)
  local at = stream:whole(balancers)
  return function()
    return at
  end
end

return M
