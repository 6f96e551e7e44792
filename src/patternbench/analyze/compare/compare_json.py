"""The documented JSON of a comparison (keys: docs/analysis.md)."""

from __future__ import annotations

from collections.abc import Sequence

from patternbench.analyze.compare.comparison import Comparison, Difference, Interval
from patternbench.analyze.compare.gate import GateVerdict, rounds_to_decide
from patternbench.analyze.plain_json import notes_json, plain
from patternbench.analyze.statements.verdict import Verdict

FORMAT = "patternbench/comparison/1"
_UNDECIDED = "undecided"
"""What version 1 of the format calls inconclusive."""


def comparison_json(comparison: Comparison, verdicts: Sequence[GateVerdict] = ()) -> dict[str, object]:
    """Lay out a comparison and the gate's verdicts as plain JSON values."""
    return plain(
        {
            "format": FORMAT,
            "level": comparison.level,
            "differences": [difference_json(d) for d in comparison.differences],
            "noise_floor_percent": {name: _percent_only(comparison, name) for name in comparison.noise_floor},
            "gate": [verdict_json(v) for v in verdicts],
            "notes": notes_json(comparison.notes),
        }
    )


def _percent_only(comparison: Comparison, response: str) -> float | None:
    reported = any(d.in_percent for d in comparison.differences if d.response == response)
    return comparison.noise_floor[response] if reported else None


def difference_json(d: Difference) -> dict[str, object]:
    """Lay out one difference."""
    return {
        "scenario": d.scenario,
        "levels": dict(d.levels),
        "response": d.response,
        "rounds": list(d.rounds),
        "means": list(d.means),
        "centres": list(d.centres),
        "difference": d.difference,
        **_ends("", d.interval),
        "method": d.interval.method,
        "relative_percent": d.relative,
        **_ends("relative_", d.relative_interval),
        "in_percent": d.in_percent,
        "p": d.p,
        "p_adjusted": d.p_adjusted,
        "cliffs_delta": d.delta,
        "size": d.size,
        "detectable_percent": d.detectable if d.in_percent else None,
        "noise_floor": d.floor,
        "verdict": _word(d.verdict),
        "firm": d.firm,
    }


def _word(verdict: Verdict) -> str:
    return _UNDECIDED if verdict is Verdict.INCONCLUSIVE else verdict.value


def _ends(prefix: str, interval: Interval) -> dict[str, float | None]:
    return {f"{prefix}ci_low": interval.low, f"{prefix}ci_high": interval.high}


def verdict_json(verdict: GateVerdict) -> dict[str, object]:
    """Lay out the gate's verdict on one condition."""
    return {
        "condition": verdict.condition.text,
        "outcome": _word(verdict.outcome),
        "checked": verdict.checked,
        "failing": [d.scenario for d in verdict.failing],
        "undecided": [
            {"scenario": d.scenario, "rounds_to_decide": rounds_to_decide(d, verdict.condition)}
            for d in verdict.undecided
        ],
    }
