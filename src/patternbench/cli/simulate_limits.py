"""``patternbench simulate-limits``: the accuracy map of rate limiting, in simulated time."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from patternbench.cli import output
from patternbench.cli.narrow import fitting
from patternbench.cli.shared import built
from patternbench.cli.terminal import PlainConsole
from patternbench.ratelimit.plan.accuracy_map import (
    ARRIVALS,
    PAPER_CLIENTS,
    SYNCHRONISATIONS,
    ClientGroup,
    Map,
    MapLease,
    left_out,
    scenarios,
)
from patternbench.ratelimit.records.simulated import MapScenario
from patternbench.ratelimit.report import printed
from patternbench.ratelimit.simulate.simulator import SimulatorError, simulate
from patternbench.study.model.limiter import ALGORITHMS
from patternbench.terms.units import LONGEST_US, Duration

DEFAULT = Map()


def _duration(text: str) -> Duration:
    """Read a duration of a day at most. Raises ValueError."""
    duration = Duration.parse(text)
    if duration.us > LONGEST_US:
        raise ValueError("a duration is at most 24h")
    return duration


class CommaSeparated(click.ParamType[object]):
    """A comma-separated list of things of one kind."""

    def __init__(self, name: str, one: Callable[[str], object], example: str) -> None:
        """Name the kind, how one is read (ValueError when it can't be), and what to type."""
        self.name, self._one, self._example = name, one, example

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the parsed values."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(self._one(part.strip()) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of {self.name}; write for example {self._example}", param, ctx)


class SingleDuration(click.ParamType[object]):
    """A single duration."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the parsed duration."""
        if not isinstance(value, str):
            return value
        try:
            return _duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def listed(values: tuple[object, ...]) -> str:
    """Return the values as a user would type them."""
    return ",".join(map(str, values))


WORDS = CommaSeparated("words", str, "token_bucket,gcra")
COUNTS = CommaSeparated("counts", int, "1,2,4")
DURATIONS = CommaSeparated("durations", _duration, "0ms,10ms,1s")
GROUPS = CommaSeparated("groups, clients x requests per minute", ClientGroup.parse, "5x120,95x30")


@click.command("simulate-limits", epilog="Example: patternbench simulate-limits --balancers 2,8 --staleness 0ms,100ms")
@click.option(
    "--algorithm",
    "algorithms",
    type=WORDS,
    default=listed(ALGORITHMS),
    metavar="LIST",
    help=f"Of {', '.join(ALGORITHMS)} [default: all].",
)
@click.option(
    "--synchronisation",
    "synchronisations",
    type=WORDS,
    default=listed(SYNCHRONISATIONS),
    show_default=True,
    metavar="LIST",
    help="request: ask the store at each request; lazy, eager: leases; share: each balancer gets limit / balancers.",
)
@click.option("--balancers", type=COUNTS, default=listed(DEFAULT.balancers), show_default=True, metavar="LIST")
@click.option(
    "--staleness",
    type=DURATIONS,
    default=listed(DEFAULT.staleness),
    show_default=True,
    metavar="LIST",
    help="How late copies of the state are. 0ms: one store for all; else a copy per balancer (CRDT).",
)
@click.option(
    "--arrivals",
    type=WORDS,
    default=listed(DEFAULT.arrivals),
    show_default=True,
    metavar="LIST",
    help=f"One or more of {', '.join(ARRIVALS)}.",
)
@click.option(
    "--clients",
    type=GROUPS,
    default=",".join(f"{g.clients}x{g.per_minute:g}" for g in PAPER_CLIENTS),
    show_default=True,
    metavar="LIST",
    help="Groups of clients, each with its requests per minute: 5x120 are 5 clients with 120 each.",
)
@click.option("--limit", type=int, default=DEFAULT.limit, show_default=True, help="Units per window.")
@click.option("--window", type=SingleDuration(), default=str(DEFAULT.window), show_default=True)
@click.option("--burst", type=int, default=DEFAULT.burst, show_default=True, help="For the buckets and GCRA.")
@click.option(
    "--sub-windows", type=int, default=DEFAULT.sub_windows, show_default=True, help="For the sliding counter."
)
@click.option(
    "--duration", type=SingleDuration(), default=str(DEFAULT.duration), show_default=True, help="Simulated time."
)
@click.option(
    "--tolerance",
    type=SingleDuration(),
    default=str(DEFAULT.tolerance),
    show_default=True,
    help="Deviations up to this time don't count.",
)
@click.option("--routing", default=DEFAULT.routing, show_default=True, help="round_robin, random or sticky.")
@click.option("--lease-size", default=DEFAULT.lease.size, show_default=True, help="static or dynamic.")
@click.option(
    "--lease-share",
    type=float,
    default=DEFAULT.lease.share,
    show_default=True,
    help="Share of the remaining units per lease.",
)
@click.option("--lease-most", type=int, default=DEFAULT.lease.most, show_default=True, help="Most units per lease.")
@click.option("--lease-expires", type=SingleDuration(), default=str(DEFAULT.lease.expires), show_default=True)
@click.option("--seed", type=int, default=DEFAULT.seed, show_default=True)
@click.option("--json", "json_", is_flag=True, help="Print every scenario and its verdict as one JSON object.")
def simulate_limits(
    json_: bool, lease_size: str, lease_share: float, lease_most: int, lease_expires: Duration, **declared: object
) -> None:
    """Map the accuracy of rate limiting by algorithm, synchronisation, load balancers and staleness.

    The filter's own code decides in simulated time, and an exact sliding log judges its decisions. Nothing is started
    or sent. The defaults are the workload of Kalyanasundaram et al. (2025).
    """
    lease = MapLease(lease_size, lease_share, lease_most, lease_expires)
    limit_map = built(Map, {**declared, "lease": lease})
    of_map = scenarios(limit_map)
    try:
        answers = simulate(of_map, workers=os.cpu_count() or 1)
    except SimulatorError as error:
        raise click.ClickException(str(error)) from None
    rows = [{**scenario, **answer.as_json()} for scenario, answer in zip(of_map, answers, strict=True)]
    if json_:
        output.as_json({"left_out": left_out(limit_map), "scenarios": rows})
    else:
        show(limit_map, [MapScenario.model_validate(row) for row in rows])


def show(limit_map: Map, rows: list[MapScenario]) -> None:
    """Print the map for people."""
    console = PlainConsole()
    for table in printed.tables(limit_map, rows):
        console.print(fitting(table, console))
    for note in printed.notes(limit_map, rows):
        console.print(note)
