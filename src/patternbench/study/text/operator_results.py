"""Results of ResilienceBench's operator as a study whose claims show them next to ours.

Its table (SBES 2025) has one row for each scenario: a service's success rate, the configuration of a gRPC retry in
variables of the environment, the percentage of faults, and the number of users. Each row is a single run, so that no
published value has an interval. What ``SERVICE_http_req_duration`` is (a mean, a median) its documentation doesn't say:
response times are therefore left out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from patternbench.study.text.flow import flow
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

RATE = "_success_rate"
MOST_ROWS = 10_000
FAULTS, USERS = "fault_percentage", "workload_users"
ATTEMPTS, INITIAL = "GRPC_MAX_ATTEMPTS", "GRPC_INITIAL_BACKOFF"
MULTIPLIER, LONGEST = "GRPC_BACKOFF_MULTIPLIER", "GRPC_MAX_BACKOFF"
CONFIGURATION = (ATTEMPTS, INITIAL, MULTIPLIER, LONGEST)
REQUIRED = ("scenario_type", FAULTS, USERS, *CONFIGURATION)
BASELINE, RETRY = "baseline", "retry"


@dataclass(frozen=True)
class PublishedRow:
    """One run: the pattern, the conditions, the share of failed calls in percent, and the retry's configuration."""

    pattern: str
    faults: Decimal
    users: Decimal
    failed: float
    configuration: tuple[Decimal, ...]

    @property
    def condition(self) -> tuple[Decimal, Decimal]:
        """Under which percentage of faults, and with how many users."""
        return self.faults, self.users

    @property
    def attempts(self) -> Decimal:
        """How many attempts a call may take, the first included, as gRPC counts."""
        return self.configuration[0]


def rows(text: str, file: str) -> list[PublishedRow]:
    """Return the rows of a table. Raises InputError listing every cell that isn't understood, with its line."""
    reader = csv.DictReader(io.StringIO(text))
    names = list(reader.fieldnames or [])
    rates = [name for name in names if name.endswith(RATE)]
    missing = [name for name in REQUIRED if name not in names]
    if missing or len(rates) != 1:
        allowed = f"{', '.join(REQUIRED)} and one SERVICE{RATE}"
        raise InputError(Problem("isn't a table of ResilienceBench's operator", file=file, line=1, allowed=allowed))
    problems: list[Problem] = []
    found = [row for row in (_row(cells, rates[0], file, reader.line_num, problems) for cells in reader) if row]
    if len(found) > MOST_ROWS:
        raise InputError(Problem("has too many rows", file=file, allowed=f"at most {MOST_ROWS:,}"))
    if problems or not found:
        raise InputError(problems or [Problem("has no rows", file=file)])
    return found


def _row(
    cells: Mapping[str, str | None], rate: str, file: str, line: int, problems: list[Problem]
) -> PublishedRow | None:
    pattern = cells.get("scenario_type") or ""
    numbers = {name: _number(cells[name]) for name in (FAULTS, USERS, *CONFIGURATION, rate)}
    wrong = [name for name, number in numbers.items() if number is None]
    if pattern not in (BASELINE, RETRY):
        allowed = f"{BASELINE}, {RETRY}"
        problems.append(Problem("isn't known here", "scenario_type", file, line, pattern, allowed))
    problems += [Problem("isn't a number", name, file, line, cells[name]) for name in wrong]
    share = numbers[rate]
    if wrong or share is None or not 0 <= share <= 1:
        if not wrong:
            problems.append(Problem("isn't a share", rate, file, line, cells[rate], "0 to 1"))
        return None
    known = {name: number for name, number in numbers.items() if number is not None}
    configuration = tuple(known[name] for name in CONFIGURATION)
    return PublishedRow(pattern, known[FAULTS], known[USERS], float(100 * (1 - share)), configuration)


def _number(text: str | None) -> Decimal | None:
    try:
        number = Decimal((text or "").strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < 10**9 else None


def study(found: Sequence[PublishedRow], name: str, url: str, path: str, file: str) -> str:
    """Return a study with the conditions and configurations of the table, and a claim for each published change."""
    retries = [row for row in found if row.pattern == RETRY]
    if not retries or len(retries) == len(found):
        raise InputError(Problem("has no retry, or no baseline to compare it with", file=file))
    head = f"""\
# The published values are those of {file}: {plural(len(found), "single run")}, without intervals. Response times
# are left out, since the table doesn't say what its http_req_duration is. Each published change is the mean over the
# back-offs of one number of attempts.
patternbench: 1
name: {name}
system: {{url: {flow(url)}, ready: {flow(path)}}}
rounds: 4
warm_up: 1s
workload:
  closed: {{users: {flow(_levels(row.users for row in found))}, duration: 10s}}   # the duration is ours
  request: {{path: {flow(path)}}}
faults:
  - abort: {{percentage: {flow(_levels(row.faults for row in found))}, status: 503}}
strategies:
  - {{client: native, baseline: {{}}}}
  - client: native
    retry: {flow(_retry(retries))}
claims:
"""
    return head + "".join(f"  - {flow(claim)}\n" for claim in _claims(found))


def _levels(values: Iterator[Decimal] | Sequence[Decimal]) -> int | float | list[int | float]:
    levels = [_plain(value) for value in sorted(set(values))]
    return levels if len(levels) > 1 else levels[0]


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _retry(retries: Sequence[PublishedRow]) -> Mapping[str, object]:
    """Return the levels of a retry: gRPC's back-off is in seconds, and a delay is drawn from 0 to all of it."""
    attempts, initial, multiplier, longest = (
        sorted({row.configuration[place] for row in retries}) for place in range(len(CONFIGURATION))
    )
    exponential = {"initial": _times(initial), "multiplier": _levels(multiplier), "max": _times(longest)}
    return {"max_attempts": _levels(attempts), "backoff": {"exponential": exponential}, "jitter": "full"}


def _times(seconds: Sequence[Decimal]) -> str | list[str]:
    times = [str(Duration(int(one * 1_000_000))) for one in seconds]
    return times if len(times) > 1 else times[0]


def _claims(found: Sequence[PublishedRow]) -> Iterator[Mapping[str, object]]:
    """Yield a claim for each condition and number of attempts of which the table has both sides."""
    for faults, users in sorted({row.condition for row in found}):
        here = [row for row in found if row.condition == (faults, users)]
        without = [row.failed for row in here if row.pattern == BASELINE]
        for attempts in sorted({row.attempts for row in here if row.pattern == RETRY}):
            with_retry = [row.failed for row in here if row.pattern == RETRY and row.attempts == attempts]
            if without and with_retry:
                yield _claim(faults, users, attempts, _mean(with_retry) - _mean(without), len(with_retry))


def _claim(faults: Decimal, users: Decimal, attempts: Decimal, change: float, runs: int) -> Mapping[str, object]:
    direction = "higher" if change > 0 else "lower"
    failing = "more" if change > 0 else "fewer"
    says = f"At {faults:f} % faults and {users:f} users {attempts:f} attempts leave {failing} calls failed than one"
    return {
        "says": says,
        "response": "failure_rate",
        "change": direction,
        "from": {"strategy": BASELINE},
        "to": {"strategy": RETRY, "retry.max_attempts": _plain(attempts)},
        "where": {"abort.percentage": _plain(faults), "users": _plain(users)},
        "over": "mean",
        "published": f"{change:+.1f} points ({plural(runs, 'single run')})",
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
