"""Prints how often real gates were wrong, from raw results: ``.venv/bin/python -m benchmarks.gate.tables [RESULT]``.

The interval of a share is that of Clopper and Pearson (95 %). A promise is *kept* where the whole interval is within
its bound, *missed* where it is wholly beyond it; else there are too few gates to show either.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import LEVEL, NOT_MEASURED, Result, machine_line, stored
from scipy import stats

PART = "gate/rates"
OUTCOMES = ("fail", "pass", "inconclusive")
MOST_WRONG = 0.05
PROMISES = ((0.0, "fail", "the same against itself fails"), (30.0, "pass", "30 % slower passes"))
"""The gates that are wrong, by the true change: what they must not say, in words."""
HEADER = [
    *("true change", "gates", "failed", "passed", "can't tell", "simulated: failed, passed", "p95, measured"),
    *("blocks", "seconds"),
]


def printed(result: Result) -> str:
    """Return what was measured, the shares of each true change, and what they show of the promises."""
    gates = result["gates"]
    busy = statistics.median(gate["load_average"] for gate in gates)
    where = f"{machine_line(result)} The median load average while it was measured was {busy:.1f}."
    return "\n\n".join([where, shares_table(gates), promises_table(gates)])


def shares_table(gates: Sequence[Result]) -> str:
    """Return how the gates of each true change ended, next to what each gate simulated of itself."""
    rows = [_row(effect, _of(gates, effect)) for effect in sorted({gate["effect"] for gate in gates})]
    return table(HEADER, rows)


def _row(effect: float, mine: Sequence[Result]) -> list[str]:
    counts = Counter(gate["outcome"] for gate in mine)
    simulated = [
        _mean([gate["simulated"][name] for gate in mine if gate["simulated"]]) for name in ("failed", "passed")
    ]
    seen = statistics.median(gate["measured_percent"] for gate in mine)
    middle = [statistics.median(gate[name] for gate in mine) for name in ("blocks", "seconds")]
    shares = [f"{100 * counts[outcome] / len(mine):.0f} %" for outcome in OUTCOMES]
    first = [f"{effect:+.0f} %", str(len(mine)), *shares, ", ".join(simulated), f"{seen:+.0f} %"]
    return [*first, f"{middle[0]:.0f}", f"{middle[1]:.0f}"]


def promises_table(gates: Sequence[Result]) -> str:
    """Return the promises with the shares of wrong gates, their intervals and a verdict."""
    header = ["promise", "at most", "wrong", "share, 95 % interval", "verdict"]
    rows = [_promise(words, wrong, _of(gates, effect)) for effect, wrong, words in PROMISES]
    return table(header, rows)


def _promise(words: str, wrong: str, mine: Sequence[Result]) -> list[str]:
    if not mine:
        return [words, f"{MOST_WRONG:.0%}", "no gates", "", "not measured"]
    count = sum(gate["outcome"] == wrong for gate in mine)
    low, high = interval(count, len(mine))
    shown = f"{100 * count / len(mine):.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return [words, f"{MOST_WRONG:.0%}", f"{count} of {len(mine)}", shown, verdict(low, high)]


def interval(count: int, of: int) -> tuple[float, float]:
    """Return the ends of the interval of a share of independent gates (Clopper and Pearson)."""
    ends = stats.binomtest(count, of).proportion_ci(LEVEL, method="exact")
    return float(ends.low), float(ends.high)


def verdict(low: float, high: float) -> str:
    """Return the word for a promise whose share lies between these."""
    if high <= MOST_WRONG:
        return "kept"
    return "missed" if low > MOST_WRONG else "too few gates to tell"


def _of(gates: Sequence[Result], effect: float) -> list[Result]:
    return [gate for gate in gates if gate["effect"] == effect]


def _mean(shares: Sequence[float]) -> str:
    return f"{100 * statistics.mean(shares):.0f} %" if shares else "–"


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
