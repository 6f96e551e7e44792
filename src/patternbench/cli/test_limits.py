"""``patternbench test-limits``: tests rules of the rate-limiting filter with requests."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.lab.host.processes import absolute
from patternbench.lab.software import filters
from patternbench.ratelimit.simulate.simulator import luajit
from patternbench.study.text.files import problem_of
from patternbench.terms.problems import InputError

FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("test-limits", epilog="Example: patternbench test-limits plan.json requests.csv --enforce")
@click.argument("plan", type=FILE)
@click.argument("requests", type=FILE)
@click.option("--enforce", is_flag=True, help="Test shadow limits and dry runs as if they rejected.")
@click.option("--start", metavar="DAY", help="The day of time 0, on which tokens must be valid [default: 2023-11-14].")
@click.option(
    "--json", "json_", is_flag=True, help="Print the unexpected decisions, and the counts, as one JSON object."
)
def test_limits(plan: Path, requests: Path, enforce: bool, start: str | None, json_: bool) -> int:
    """Decide the requests of a CSV file under the rules of PLAN, and compare each decision with the expected one.

    The filter's own code decides in simulated time. Nothing is started or sent. Columns of REQUESTS: path and expect
    (allowed, rejected, denied or refused); optional are time, method, address, repeat, limit (the one that rejects),
    header:NAME and variable:NAME.

    Exit code 1: a decision wasn't the expected one.
    """
    unread = [problem for problem in map(problem_of, (plan, requests)) if problem]
    if unread:
        raise InputError(unread)
    flags = {"--enforce": enforce, "--json": json_}
    options = [*(flag for flag, is_set in flags.items() if is_set), *(["--start", start] if start else [])]
    return filters.command(luajit(), "test", absolute(plan), absolute(requests), *options)
