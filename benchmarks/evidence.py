"""What all benchmarks share: raw results as files, intervals of paired rounds, and the words that rest on them.

One round visits every variant once, so that what slows a whole round down cancels from differences within it. All
intervals are t over rounds, at a confidence at which those of one table hold together (Bonferroni).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from patternbench.analyze.statements.estimate import paired_counts
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Conclusion

LEVEL = 0.95
ENORMOUS = 1e5
BENCHMARKS = Path(__file__).resolve().parent
NOT_MEASURED = "Not measured yet."
Result = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A difference, or a ratio, with the ends of its interval; the ends are NaN below two rounds."""

    value: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """Return the value and its interval, where there are rounds enough for one."""
        if np.isnan(self.low):
            return f"{reported(self.value, digits)} [one round]"
        return f"{reported(self.value, digits)} [{reported(self.low, digits)}, {reported(self.high, digits)}]"

    def excludes(self, nothing: float) -> bool:
        """Whether the interval leaves out the value that means no difference."""
        return self.low > nothing or self.high < nothing

    def word(self, nothing: float, less: str, more: str) -> str:
        """Say ``less`` or ``more`` only when the interval excludes no difference."""
        return (less if self.high < nothing else more) if self.excludes(nothing) else Conclusion.INCONCLUSIVE


def reported(value: float, digits: int) -> str:
    """Return a number with ``digits`` decimals.

    One that too few rounds make enormous shows only its order of magnitude.
    """
    return f"{value:.{digits}f}" if abs(value) < ENORMOUS else f"{value:.0e}"


def ratio(base: Sequence[float], other: Sequence[float], among: int = 1) -> Change:
    """Return the ratio other / base over paired rounds, as the mean of its log.

    One of ``among`` that are reported together.
    """
    change = difference(np.log(base).tolist(), np.log(other).tolist(), among)
    return Change(*np.exp([change.value, change.low, change.high]).tolist())


def difference(base: Sequence[float], other: Sequence[float], among: int = 1) -> Change:
    """Return the mean of other - base over paired rounds; one of ``among`` that are reported together."""
    if len(base) != len(other):
        raise ValueError(f"{len(base)} and {len(other)} rounds don't pair up")
    estimate = paired_counts(np.asarray(base, float), np.asarray(other, float))
    return Change(float(estimate.value), *map(float, estimate.ends(together(LEVEL, among))))


def mean_of(values: Sequence[float], among: int = 1) -> Change:
    """Return the mean of values by round; one of ``among`` that are reported together."""
    return difference([0.0] * len(values), values, among)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Median [smallest, largest]."""
    if not values:
        return "not measured"
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f}, {max(values):,.{digits}f}]"


def stored(part: str) -> Result | None:
    """Raw results that are committed, such as those of ``engine/compare``; None when there are none."""
    file = file_of(part)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def store(part: str, options: dict[str, Any], out: Path | None = None, **measured: Any) -> Result:
    """Write raw results and what they were measured on, to the place of their part unless ``out`` names another."""
    result = {"machine": machine(), "code": code(), "options": options, **measured}
    file = out or file_of(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"raw results: {file}", file=sys.stderr)
    return result


def file_of(part: str) -> Path:
    """Where the raw results of a part lie: ``engine/compare`` is benchmarks/engine/results/compare.json."""
    folder, name = part.split("/")
    return BENCHMARKS / folder / "results" / f"{name}.json"


def machine() -> dict[str, Any]:
    """Return what a number was measured on, and how busy that was just after."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].split(":")[1].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_average": round(os.getloadavg()[0], 1),
    }


def code() -> dict[str, str]:
    """Return which commit was measured, and when; a + says that the files differed from it."""
    told = ["git", "-C", str(BENCHMARKS), "describe", "--always", "--dirty=+", "--exclude=*"]
    commit = subprocess.run(told, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    return {"commit": commit, "date": datetime.now(UTC).date().isoformat()}


def machine_line(result: Result) -> str:
    """Return the code, the machine and the options of a result in one line, and how busy the machine was.

    A result that rests on a run says how busy the machine was as that run began; others note it just after.
    """
    of = result.get("code", {"commit": "not noted", "date": "day not noted"})
    on, options = result["machine"], ", ".join(f"{name} {value}" for name, value in result["options"].items())
    load = f"{on['load_at_start']} at the start" if "load_at_start" in on else f"{on['load_average']} at the end"
    return (
        f"Commit {of['commit']}, {of['date']}. {on['cores']} cores ({on['processor']}, Linux {on['kernel']}), "
        f"load average {load}; {options}."
    )


def by_round(rows: Sequence[Result], column: str, **expected: Any) -> list[float]:
    """Return a column of the rows that have the wanted values, in the order of rounds."""
    chosen = [row for row in rows if all(row[name] == value for name, value in expected.items())]
    return [float(row[column]) for row in sorted(chosen, key=lambda row: row["round"])]


def names_of(rows: Sequence[Result], column: str) -> list[str]:
    """Return the values of a column, in the order in which they first come."""
    return list(dict.fromkeys(row[column] for row in rows))
