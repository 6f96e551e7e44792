"""Whether a client of the filter's own pays: CPU per decision, next to a client that others keep, in the same nginx.

Both send the same call over pooled connections, and a third location calls no one. Every round visits all three for a
second each, in shuffled order, under sixteen connections of wrk; CPU is that of nginx's worker. Comparisons are made
within a round.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
from benchmarks.common import table
from benchmarks.evidence import (
    NOT_MEASURED,
    Result,
    difference,
    machine_line,
    mean_of,
    ratio,
    spread,
    store,
    stored,
)
from benchmarks.ratelimit.run import cpu_seconds, drive
from benchmarks.ratelimit.systems import MariaDB, Nginx, Redis, backend, balancer, limit, rules_of, workplace

NOTHING, OURS = "no call", "the filter's client"
PREPARE = """
local keys, in_force = require("ratelimit.keys"), require("ratelimit.in_force")
local limit = in_force.current.limits[1]
local address = in_force.current.stores.{store}.address
local function key() return keys.storage(limit, "header=" .. ngx.var.http_x_api_key) end
local function request() return {{ key = key(), limit = limit, verb = "take", amount = 1, binding = true }} end
"""
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


@dataclass(frozen=True)
class Comparison:
    """The filter's client of a store, and a peer's, as Lua that returns a function that makes one decision.

    ``name`` is what ours is called in the table.
    """

    part: str
    store: str
    ours: str
    peer: str
    theirs: str
    name: str = OURS

    @property
    def calls(self) -> dict[str, str]:
        """Return the Lua of every client by its name."""
        return {NOTHING: "return function() return key() end", self.name: self.ours, self.peer: self.theirs}

    @property
    def places(self) -> dict[str, str]:
        """Return the location in which each client is called."""
        return dict(zip(self.calls, ("/nothing", "/ours", "/theirs"), strict=True))

    def config(self, config: str) -> str:
        """Return nginx's configuration with a location for each client."""
        prepare = PREPARE.format(store=self.store)
        calls = (LOCATION.format(place=self.places[name], code=prepare + code) for name, code in self.calls.items())
        return config.replace("location / {", "".join(calls) + "location / {")


def visit(nginx: Nginx, folder: Path, place: str, seconds: int) -> float:
    """Return the microseconds of CPU that one request costs the worker."""
    script = folder / "wrk.lua"
    script.write_text(WRK.format(place=place), encoding="utf-8")
    before = cpu_seconds(nginx.workers())
    requests, _ = drive(nginx.url, script, seconds)
    return 1e6 * (cpu_seconds(nginx.workers()) - before) / requests


def measure(
    nginx: Nginx, folder: Path, places: dict[str, str], rounds: int, rng: random.Random
) -> dict[str, list[float]]:
    """Visit all clients in every round, in shuffled order; the first round only warms up."""
    times: dict[str, list[float]] = {name: [] for name in places}
    for turn in range(rounds + 1):
        for name in rng.sample(list(places), len(places)):
            cost = visit(nginx, folder, places[name], 1)
            if turn:
                times[name].append(cost)
    return times


def printed(result: Result, peer: str) -> str:
    """Return the table of a result, and whether the filter's own client costs less."""
    times = result["us_per_request"]
    rows = [[name, spread(values, 1), mean_of(values).text(1)] for name, values in times.items()]
    header = ["client", "CPU of the worker per request, µs, median [smallest, largest]", "mean [95 % interval]"]
    gap, factor = difference(times[OURS], times[peer]), ratio(times[OURS], times[peer])
    reported = (
        f"{peer}'s call minus that of the filter's client: {gap.text(1)} µs; {gap.word(0.0, 'less', 'more')}. "
        f"A whole request with it costs {factor.text(2)} times as much."
    )
    return f"{machine_line(result)}\n\n{table(header, rows)}\n\n{reported}"


def committed(comparison: Comparison) -> str:
    """Return the table of the committed result."""
    result = stored(comparison.part)
    return printed(result, comparison.peer) if result else NOT_MEASURED


def options_of(about: str | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    return parser.parse_args()


def compare(comparison: Comparison, kept: Redis | MariaDB, folder: Path, options: argparse.Namespace) -> Result:
    """Measure both clients of a store that runs, and keep the raw results."""
    behind = backend(folder / "backend")
    generous = limit("gcra", store=comparison.store, limit=1_000_000, window="1s")
    rules = rules_of(generous, stores={comparison.store: kept.store()})
    nginx = balancer(folder / "nginx", rules, behind.port, workers=1, extra=comparison.config)
    nginx.start()
    try:
        # The first request prepares the store's script.
        httpx.get(nginx.url + comparison.places[comparison.name], headers={"X-Api-Key": "first"})
        times = measure(nginx, folder, comparison.places, options.rounds, random.Random(options.seed))
    finally:
        for component in (nginx, behind):
            component.stop()
    reported = {"rounds": options.rounds, "seed": options.seed}
    return store(comparison.part, reported, options.out, us_per_request=times)


def run(
    comparison: Comparison,
    start: Callable[[Path], Redis | MariaDB],
    about: str | None,
    words: Callable[[Result, str], str] = printed,
) -> None:
    """Start the store that both clients call, compare them, stop it, and print the table of the result."""
    options = options_of(about)
    with workplace("own-client-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        kept = start(folder / comparison.store)
        try:
            print(words(compare(comparison, kept, folder, options), comparison.peer))
        finally:
            kept.stop()
