"""Whether the filter's own MySQL client pays, next to lua-resty-mysql.

``LUA_RESTY_MYSQL=lua-resty-mysql/lib:lua-resty-string/lib .venv/bin/python -m benchmarks.ratelimit.mysql_client``
(clones of ``github.com/openresty/lua-resty-mysql`` and ``lua-resty-string``, which Debian doesn't package).

Both carry the same statements of the same store: the peer stands in for ``ratelimit.wire.mysql`` alone.
"""

import os
import sys
from pathlib import Path

from benchmarks.ratelimit import own_clients
from benchmarks.ratelimit.own_clients import Comparison
from benchmarks.ratelimit.systems import MariaDB

VARIABLE = "LUA_RESTY_MYSQL"
DECIDING = """
return function() assert(assert(store:decide({ request() }))[1].granted == 1) end"""
PEER = """
package.path = "{path};" .. package.path
local resty, own = require("resty.mysql"), require("ratelimit.wire.mysql")
local function all_rows(client, text)
  local list, rows, err, code = {{}}, client:query(text)
  while rows do
    for _, row in ipairs(rows) do list[#list + 1] = row end
    if err ~= "again" then return list end
    rows, err, code = client:read_result()
  end
  return nil, err, code
end
local function call(address, text, talk)
  local client = assert(resty:new())
  client:set_timeout(address.timeout * 1000)
  assert(client:connect({{ host = address.host, port = address.port, user = address.user, password = address.password,
    database = address.database, compact_arrays = true, pool = "peer", pool_size = address.pool_size,
    backlog = 4096 }}))
  if client:get_reused_times() == 0 then assert(all_rows(client, address.setup)) end
  local rows, err, code = (talk or all_rows)(client, text)
  assert(client:set_keepalive(address.idle * 1000, address.pool_size))
  return rows, err, code
end
package.loaded["ratelimit.wire.mysql"] = {{ call = call, query = all_rows, quote = own.quote }}
local file = assert(package.searchpath("ratelimit.stores.mariadb", package.path))
local store = dofile(file).new({{ address = address }})
package.loaded["ratelimit.wire.mysql"] = own"""


def comparison(folders: str) -> Comparison:
    """Return both clients, the peer's Lua from some folders."""
    path = ";".join(f"{Path(folder).resolve()}/?.lua" for folder in folders.split(":"))
    return Comparison(
        part="ratelimit/mysql_client",
        store="mariadb",
        ours='local store = require("ratelimit.stores.mariadb").new({ address = address })' + DECIDING,
        peer="lua-resty-mysql",
        theirs=PEER.format(path=path) + DECIDING,
    )


COMPARISON = comparison(os.environ.get(VARIABLE, ""))


def committed() -> str:
    """Return the table of the committed result."""
    return own_clients.committed(COMPARISON)


if __name__ == "__main__":
    if VARIABLE not in os.environ:
        sys.exit(f"{VARIABLE} is not set; set it to lua-resty-mysql/lib:lua-resty-string/lib, clones from GitHub")
    own_clients.run(COMPARISON, lambda folder: MariaDB(folder).install(), __doc__)
