"""``patternbench test-limits``: rules of the rate-limiting filter, tested with requests."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.lab import filters
from patternbench.lab.processes import absolute
from patternbench.ratelimit.simulate.simulator import luajit

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("test-limits", epilog="Example: patternbench test-limits plan.json requests.csv --enforce")
@click.argument("plan", type=FILE)
@click.argument("requests", type=FILE)
@click.option("--enforce", is_flag=True, help="Test shadow limits and a dry run as if they rejected.")
@click.option("--start", metavar="DAY", help="The day of the time 0, which tokens are valid on [default: 2023-11-14].")
@click.option(
    "--json", "json_", is_flag=True, help="Print what was decided otherwise, and the counts, as one JSON object."
)
def test_limits(plan: Path, requests: Path, enforce: bool, start: str | None, json_: bool) -> int:
    """Decide the requests of a CSV file under the rules of PLAN, and compare with what each expects.

    The filter's own code decides, in simulated time: nothing listens, nothing is sent. Columns of REQUESTS: path and
    expect (allowed, rejected, denied or refused), and where wanted time, method, address, repeat, limit (which one
    rejects), header:NAME and variable:NAME.

    Exit code 1 says that a request was not decided as expected.
    """
    flags = {"--enforce": enforce, "--json": json_}
    options = [*(flag for flag, is_set in flags.items() if is_set), *(["--start", start] if start else [])]
    return filters.command(luajit(), "test", absolute(plan), absolute(requests), *options)
