"""Prints how near predictions are to what is measured: ``.venv/bin/python -m benchmarks.simulation.accuracy_tables``.

The words are those of ``patternbench calibrate``. A goal about several scenarios is met or missed as its number says,
which has no interval: it is over the scenarios that were chosen, and not over those that might have been.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
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
HALF, ALL = 50.0, 100.0
WORDS = tuple(Nearness)


def printed(result: Result) -> str:
    """Return the tables of each study, and what they were measured on."""
    of_all = {name: result[name] for name in OWN if name in result}
    return "\n\n".join(part for check in result["checks"] for part in of_study({**of_all, **check}))


def of_study(check: Result) -> Iterator[str]:
    """Yield the rule and the machine of a study, the words by response, and the goals."""
    held_out = check["held_out"]
    cells = [cell for scenario in held_out["scenarios"] for cell in scenario["responses"]]
    names = list(dict.fromkeys(cell["response"] for cell in cells))
    rows = [response_row(name, [cell for cell in cells if cell["response"] == name], held_out) for name in names]
    yield f"**{check['study']}**, held out: {held_out['rule']}."
    yield machine_line(check)
    yield table(["response", *WORDS, "median error, %", "over all"], rows)
    yield table(["goal", "bound", "found", "scenarios", "goal is"], list(goal_rows(check)))


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


def goal_rows(check: Result) -> Iterator[list[str]]:
    """Yield each goal with what was found, over how many scenarios."""
    scenarios = check["held_out"]["scenarios"]
    shares = [share_of(one, check.get("capacity")) for one in scenarios]
    light = [one for one, share in zip(scenarios, shares, strict=True) if share is None or share < BELOW]
    for name, most in GOALS.items():
        errors = known_errors(cells_of(name, light if name == "p99" else scenarios))
        if errors:
            where = f" below {BELOW:g} % of the capacity" if name == "p99" and None not in shares else ""
            found = statistics.median(errors)
            met = "met" if found <= most else "missed"
            yield [f"median error of {name}{where}, %", f"at most {most:g}", f"{found:.1f}", str(len(errors)), met]
    yield from recovered_rows(cells_of("recovered", scenarios))


def cells_of(name: str, scenarios: Sequence[Result]) -> list[Result]:
    """Return what was found of a response in each scenario that has it."""
    return [cell for one in scenarios for cell in one["responses"] if cell["response"] == name]


def share_of(scenario: Result, capacity: float | None) -> float | None:
    """Return the load of a scenario in percent of the capacity; None where that is not known."""
    rate = str(scenario["levels"].get("rate", ""))
    if rate.endswith("%"):
        return float(rate.removesuffix("%"))
    return 100 * float(rate) / capacity if rate and capacity else None


def recovered_rows(cells: Sequence[Result]) -> Iterator[list[str]]:
    """Yield in how many scenarios it is predicted whether a round recovers.

    Where some measured rounds have recovered and some have not, the scenario lies at the boundary, and has no answer.
    """
    known = [cell for cell in cells if cell["predicted"] is not None and cell["measured"] in (0, ALL)]
    if known:
        right = 100 * sum((cell["predicted"] >= HALF) == (cell["measured"] == ALL) for cell in known) / len(known)
        met = "met" if right >= GOAL_RECOVERED else "missed"
        what, bound = "recovered or not, off the boundary, is right, %", f"at least {GOAL_RECOVERED:g}"
        yield [what, bound, f"{right:.0f}", f"{len(known)} of {len(cells)}", met]


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
