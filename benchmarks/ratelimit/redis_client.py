"""Whether the filter's own Redis client pays, next to lua-resty-redis (Debian's ``lua-nginx-redis``).

``.venv/bin/python -m benchmarks.ratelimit.redis_client --rounds 30``
"""

from benchmarks.ratelimit import own_clients
from benchmarks.ratelimit.own_clients import Comparison
from benchmarks.ratelimit.systems import Redis

COMPARISON = Comparison(
    part="ratelimit/redis_client",
    store="redis",
    ours="""
local store = require("ratelimit.stores.redis").new({ address = address })
return function() return assert(store:decide({ request() })) end""",
    peer="lua-resty-redis",
    theirs="""
local store, redis = require("ratelimit.stores.redis"), require("nginx.redis")
local digest = store.digest(limit)
return function()
  local client = redis:new()
  client:set_timeout(address.timeout * 1000)
  assert(client:connect(address.host, address.port, { pool_size = address.pool_size }))
  local reply = assert(client:evalsha(digest, 1, key(), -1, -1, "take", limit.algorithm, limit.limit, limit.window,
    limit.burst, limit.sub_windows, 1, 0, 0, 1))
  assert(client:set_keepalive(address.idle * 1000, address.pool_size))
  return store.answers(reply, 1)
end""",
)


def committed() -> str:
    """Return the table of the committed result."""
    return own_clients.committed(COMPARISON)


if __name__ == "__main__":
    own_clients.run(COMPARISON, lambda folder: Redis(folder).start(), __doc__)
