"""What it costs to remember what a client has used of a limit in Redis (``known.lua``): CPU per decision.

``.venv/bin/python -m benchmarks.ratelimit.known --rounds 30``

Both decide the same requests by the same limit in the same nginx: one as the filter does, the other without looking
after what a store that comes back empty would have forgotten.
"""

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, machine_line, mean_of, ratio, spread, stored
from benchmarks.ratelimit import own_clients
from benchmarks.ratelimit.own_clients import Comparison
from benchmarks.ratelimit.systems import Redis

WITH, WITHOUT = "a decision", "a decision without what is known"
DECIDE = """
local deciding, lock = require("ratelimit.deciding"), require("ratelimit.stores.lock")
local known = require("ratelimit.known")
package.loaded.really_covers = package.loaded.really_covers or known.covers
local covers = {covers}
return function()
  known.covers = covers
  local place = key()
  local client = "header=" .. ngx.var.http_x_api_key
  local subject = {{ limit = limit, client = client, key = place, stripe = lock.stripe(place), cost = 1 }}
  local _, stop = deciding.all({{ subject }})
  assert(not stop)
end"""
COMPARISON = Comparison(
    part="ratelimit/known",
    store="redis",
    ours=DECIDE.format(covers="package.loaded.really_covers"),
    peer=WITHOUT,
    theirs=DECIDE.format(covers="function() return false end"),
    name=WITH,
)


def printed(result: Result, _: str = "") -> str:
    """Return the table of a result, and how many times as much a decision costs with what is known."""
    times = result["us_per_request"]
    rows = [[name, spread(values, 1), mean_of(values).text(1)] for name, values in times.items()]
    header = ["request", "CPU of the worker per request, µs, median [smallest, largest]", "mean [95 % interval]"]
    nothing = times[own_clients.NOTHING]
    alone = [[one - other for one, other in zip(times[name], nothing, strict=True)] for name in (WITHOUT, WITH)]
    factor = ratio(*alone)
    words = (
        f"A decision with what is known costs {factor.text(3)} times as much CPU as one without, apart from the "
        f"request; {factor.word(1.0, 'less', 'more')}."
    )
    return f"{machine_line(result)}\n\n{table(header, rows)}\n\n{words}"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(COMPARISON.part)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    own_clients.run(COMPARISON, lambda folder: Redis(folder).start(), __doc__, printed)
