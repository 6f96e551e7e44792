"""Whether the filter's own Redis client pays: CPU per decision, next to lua-resty-redis in the same nginx.

``.venv/bin/python -m benchmarks.ratelimit.redis_client --rounds 30`` (Debian's ``lua-nginx-redis``) sends
the same script call over pooled connections with both, and answers a location that calls no one.
Every round visits all three for a
second each, in shuffled order, under sixteen connections of wrk; CPU is that of nginx's worker. Comparisons are made
within a round.
"""

import argparse
import random
from pathlib import Path

import httpx
from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, difference, machine_line, mean_of, spread, store, stored
from benchmarks.ratelimit.run import cpu_seconds, drive
from benchmarks.ratelimit.systems import Nginx, Redis, backend, balancer, limit, rules_of, workplace

PART = "ratelimit/redis_client"
NOTHING, OURS, THEIRS = "no call", "the filter's client", "lua-resty-redis"
PLACES = {NOTHING: "/nothing", OURS: "/ours", THEIRS: "/theirs"}

PREPARE = """
local keys, in_force = require("ratelimit.keys"), require("ratelimit.in_force")
local limit = in_force.current.limits[1]
local address = in_force.current.stores.redis.address
local function key() return keys.storage(limit, "header=" .. ngx.var.http_x_api_key) end
"""
CLIENTS = {
    NOTHING: "return function() return key() end",
    OURS: """
local store = require("ratelimit.stores.redis").new({ address = address })
return function()
  return assert(store:decide({ { key = key(), limit = limit, verb = "take", amount = 1, binding = true } }))
end""",
    THEIRS: """
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
}
LOCATION = """location = {place} {{
      content_by_lua_block {{
        package.loaded["bench{place}"] = package.loaded["bench{place}"] or (function() {code} end)()
        package.loaded["bench{place}"]()
        ngx.exit(204)
      }}
    }}
    """
WRK = """
local n, requests = 0, {{}}
function init()
  for i = 0, 999 do requests[i] = wrk.format("GET", "{place}", {{ ["X-Api-Key"] = "client-" .. i }}) end
end
function request()
  n = (n + 1) % 1000
  return requests[n]
end
function done(summary)
  io.write(string.format("RESULT %d %d %d\\n", summary.requests, summary.duration, summary.errors.status))
end
"""


def with_clients(config: str) -> str:
    """Return nginx's configuration with a location for each client."""
    places = (LOCATION.format(place=place, code=PREPARE + CLIENTS[name]) for name, place in PLACES.items())
    return config.replace("location / {", "".join(places) + "location / {")


def visit(nginx: Nginx, folder: Path, name: str, seconds: int) -> float:
    """Return the microseconds of CPU that one request costs the worker."""
    script = folder / "wrk.lua"
    script.write_text(WRK.format(place=PLACES[name]), encoding="utf-8")
    before = cpu_seconds(nginx.workers())
    requests, _ = drive(nginx.url, script, seconds)
    return 1e6 * (cpu_seconds(nginx.workers()) - before) / requests


def measure(nginx: Nginx, folder: Path, rounds: int, rng: random.Random) -> dict[str, list[float]]:
    """Visit all clients in every round, in shuffled order; the first round only warms up."""
    times: dict[str, list[float]] = {name: [] for name in PLACES}
    for turn in range(rounds + 1):
        for name in rng.sample(list(PLACES), len(PLACES)):
            cost = visit(nginx, folder, name, 1)
            if turn:
                times[name].append(cost)
    return times


def printed(result: Result) -> str:
    """Return the table of a result, and whether the filter's own client costs less."""
    times = result["us_per_request"]
    rows = [[name, spread(values, 1), mean_of(values).text(1)] for name, values in times.items()]
    header = ["client", "CPU of the worker per request, µs, median [smallest, largest]", "mean [95 % interval]"]
    gap = difference(times[OURS], times[THEIRS])
    word = gap.word(0.0, "less", "more")
    reported = f"lua-resty-redis's call minus that of the filter's client: {gap.text(1)} µs; {word}."
    return f"{machine_line(result)}\n\n{table(header, rows)}\n\n{reported}"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


def main() -> None:
    """Print what a call costs with both clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    options = parser.parse_args()
    with workplace("redis-client-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        behind, redis = backend(folder / "backend"), Redis(folder / "redis").start()
        generous = limit("gcra", store="redis", limit=1_000_000, window="1s")
        stores = {"redis": redis.store()}
        nginx = balancer(
            folder / "nginx", rules_of(generous, stores=stores), behind.port, workers=1, extra=with_clients
        )
        nginx.start()
        try:
            httpx.get(nginx.url + PLACES[OURS], headers={"X-Api-Key": "first"})  # brings the script to Redis
            times = measure(nginx, folder, options.rounds, random.Random(options.seed))
        finally:
            for each in (nginx, redis, behind):
                each.stop()
    reported = {"rounds": options.rounds, "seed": options.seed}
    print(printed(store(PART, reported, options.out, us_per_request=times)))


if __name__ == "__main__":
    main()
