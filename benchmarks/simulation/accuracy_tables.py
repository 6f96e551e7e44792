"""Prints how near predictions are to what is measured: ``.venv/bin/python -m benchmarks.simulation.accuracy_tables``.

The words are those of ``patternbench calibrate``. A goal about several scenarios is met or missed as its number says,
which has no interval: it is over the scenarios that were chosen, and not over those that might have been.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, machine_line, stored

from patternbench.terms.nearness import Nearness

PART = "simulation/accuracy"
OWN = ("machine", "code", "options")
"""What a check was measured on, where it is not that of all checks."""
GOALS = {"p99": 10.0, "goodput": 3.0}
"""The greatest median error, in percent of what was measured."""
BELOW = 90.0
"""Percent of the capacity up to which times are to be predicted."""
GOAL_RECOVERED = 95.0
"""Percent of the scenarios off the boundary in which it is predicted whether a round recovers."""
CUT = 0.03
"""From this share below the longest time-out on, a p99 is made of time-outs: anyone can predict it from the study."""
RECOVERED = "recovered"
HEADS = {
    "p99": f"median error of p99 below {BELOW:g} % of the capacity, without time-outs, %",
    "goodput": "median error of goodput, %",
    RECOVERED: "recovered or not is right, %",
}
"""The goals, at the head of a column."""
HALF, ALL = 50.0, 100.0
WORDS = tuple(Nearness)


@dataclass(frozen=True)
class GoalResult:
    """A goal of one check: what is to be how great, what was found over how many scenarios, and whether it is met."""

    kind: str
    what: str
    bound: str
    found: str
    scenarios: str
    met: str


def printed(result: Result) -> str:
    """Return the goals of all studies, then the tables of each, and what they were measured on."""
    of_all = {name: result[name] for name in OWN if name in result}
    checks = [{**of_all, **check} for check in result["checks"]]
    parts = [part for check in checks for part in of_study(check)]
    return "\n\n".join([at_a_glance(checks), *parts] if len(checks) > 1 else parts)


def at_a_glance(checks: Sequence[Result]) -> str:
    """Return a table of what was found for each goal, a row for each study."""
    found = {check["study"]: {goal.kind: goal for goal in goals(check)} for check in checks}
    kinds = list(dict.fromkeys(kind for of_study in found.values() for kind in of_study))
    bounds = {goal.kind: goal.bound for of_study in found.values() for goal in of_study.values()}
    heads = [f"{HEADS[kind]}: {bounds[kind]}" for kind in kinds]
    rows = [[study, *(in_short(of_study.get(kind)) for kind in kinds)] for study, of_study in found.items()]
    return table(["study", *heads], rows)


def in_short(goal: GoalResult | None) -> str:
    """Return what was found for a goal in a few words."""
    return "–" if goal is None else f"{goal.found} ({goal.met})"


def of_study(check: Result) -> Iterator[str]:
    """Yield the rule and the machine of a study, the words by response, and the goals."""
    held_out = check["held_out"]
    cells = [cell for scenario in held_out["scenarios"] for cell in scenario["responses"]]
    names = list(dict.fromkeys(cell["response"] for cell in cells))
    rows = [response_row(name, [cell for cell in cells if cell["response"] == name], held_out) for name in names]
    yield f"**{check['study']}**, held out: {held_out['rule']}."
    yield machine_line(check)
    yield table(["response", *WORDS, "median error, %", "over all"], rows)
    rows = [[goal.what, goal.bound, goal.found, goal.scenarios, goal.met] for goal in goals(check)]
    yield table(["goal", "bound", "found", "scenarios", "goal is"], rows)


def response_row(name: str, cells: Sequence[Result], held_out: Result) -> list[str]:
    """Return how many scenarios have which word, and the median of how far predictions are off."""
    counts = Counter(cell["verdict"] for cell in cells)
    median = median_error(cells)
    error = "–" if median is None else f"{median:.1f}"
    return [name, *(str(counts[word]) for word in WORDS), error, held_out["verdicts"][name]]


def median_error(cells: Sequence[Result]) -> float | None:
    """Return the median of how far predictions are off, in percent of what was measured; None without any."""
    errors = known_errors(cells)
    return statistics.median(errors) if errors else None


def known_errors(cells: Sequence[Result]) -> list[float]:
    """Return how far predictions are off, in percent of what was measured, where both are known.

    Shares and times to recover are held against points and seconds: a percentage of nearly nothing says nothing.
    """
    both = [(cell["measured"], cell["predicted"]) for cell in cells if cell["relative"]]
    return [100 * abs(predicted / measured - 1) for measured, predicted in both if measured and predicted is not None]


def goals(check: Result) -> Iterator[GoalResult]:
    """Yield each goal with what was found, over how many scenarios."""
    scenarios = check["held_out"]["scenarios"]
    shares = [share_of(one, check.get("capacity")) for one in scenarios]
    light = [one for one, share in zip(scenarios, shares, strict=True) if share is None or share < BELOW]
    where = "" if None in shares else f" below {BELOW:g} % of the capacity"
    times = cells_of("p99", light)
    yield from median_goal("p99", f"median error of p99{where}, without time-outs, %", times, own(times, check))
    cells = cells_of("goodput", scenarios)
    yield from median_goal("goodput", "median error of goodput, %", cells, cells)
    yield from recovered_goal(cells_of(RECOVERED, scenarios))


def median_goal(name: str, what: str, cells: Sequence[Result], judged: Sequence[Result]) -> Iterator[GoalResult]:
    """Yield the goal of a median error, over those cells that are judged; nothing where none is known."""
    errors = known_errors(judged)
    if errors:
        found, most = statistics.median(errors), GOALS[name]
        met, over = "met" if found <= most else "missed", f"{len(errors)} of {len(cells)}"
        yield GoalResult(name, what, f"at most {most:g}", f"{found:.1f}", over, met)


def own(cells: Sequence[Result], check: Result) -> list[Result]:
    """Return the cells whose measured time is a time of the system, and not how long its callers wait."""
    longest = max(check.get("timeouts") or [math.inf])
    return [cell for cell in cells if cell["measured"] < (1 - CUT) * longest]


def cells_of(name: str, scenarios: Sequence[Result]) -> list[Result]:
    """Return what was found of a response in each scenario that has it."""
    return [cell for one in scenarios for cell in one["responses"] if cell["response"] == name]


def share_of(scenario: Result, capacity: float | None) -> float | None:
    """Return the load of a scenario in percent of the capacity; None where that is not known."""
    rate = str(scenario["levels"].get("rate", ""))
    if rate.endswith("%"):
        return float(rate.removesuffix("%"))
    return 100 * float(rate) / capacity if rate and capacity else None


def recovered_goal(cells: Sequence[Result]) -> Iterator[GoalResult]:
    """Yield in how many scenarios it is predicted whether a round recovers.

    Where some measured rounds have recovered and some have not, the scenario lies at the boundary, and has no answer.
    """
    known = [cell for cell in cells if cell["predicted"] is not None and cell["measured"] in (0, ALL)]
    if known:
        right = 100 * sum((cell["predicted"] >= HALF) == (cell["measured"] == ALL) for cell in known) / len(known)
        met = "met" if right >= GOAL_RECOVERED else "missed"
        what, bound = "recovered or not, off the boundary, is right, %", f"at least {GOAL_RECOVERED:g}"
        yield GoalResult(RECOVERED, what, bound, f"{right:.3g}", f"{len(known)} of {len(cells)}", met)


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
