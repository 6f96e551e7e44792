"""What the runs of a history say together: a line for each claim and margin, how it went, and in which words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.statements.change_points import FEWEST_SIDE, Course, Stretch, course
from patternbench.analyze.statements.sentences import Ends, changed
from patternbench.analyze.statements.verdict import Verdict
from patternbench.records.history import HistoryRun, Kind, MachineFacts, RecordedEffect
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import number

FORMAT = "patternbench/history/1"
LEADING: tuple[Kind, ...] = ("claim", "margin")
"""The kinds of lines that a history is judged by, where its runs have any."""
NOT_JUDGED = "not judged: another machine moves it"


@dataclass(frozen=True)
class HistoryPoint:
    """An effect of a run: the number of the run from 1, the run, and what it showed."""

    number: int
    run: HistoryRun
    effect: RecordedEffect


@dataclass(frozen=True)
class HistoryLine:
    """One effect from run to run, and how it went; None where another machine moves it."""

    points: tuple[HistoryPoint, ...]
    course: Course | None

    @property
    def last(self) -> RecordedEffect:
        """The effect as the last run has it."""
        return self.points[-1].effect

    @property
    def verdict(self) -> str:
        """What became of it, in a word."""
        return NOT_JUDGED if self.course is None else str(self.course.verdict)

    def written(self, value: float) -> float:
        """Return a value of the scale on which changes add up as effects are written."""
        if self.last.relative:
            return 100 * math.expm1(value)
        positive = self.last.kind == "margin" and all(one.effect.value > 0 for one in self.points)
        return math.exp(value) if positive else value

    @property
    def changed_at(self) -> tuple[HistoryPoint, ...]:
        """The first runs after each change."""
        return () if self.course is None else tuple(self.points[at] for at in self.course.changes)


@dataclass(frozen=True)
class KeptHistory:
    """The runs of a history in the order of their begin, its lines, and how many of them are judged together."""

    runs: tuple[HistoryRun, ...]
    lines: tuple[HistoryLine, ...]
    judged: int


def history_of(runs: Sequence[HistoryRun], everything: bool = False) -> KeptHistory:
    """Return what runs say together: of claims and margins if they have any, else of all effects.

    ``everything`` adds the effects of the configurations to them.
    """
    ordered = tuple(sorted(runs, key=lambda run: run.started))
    found: dict[str, list[HistoryPoint]] = {}
    for place, run in enumerate(ordered, start=1):
        for effect in run.effects:
            found.setdefault(effect.key, []).append(HistoryPoint(place, run, effect))
    leading = [points for points in found.values() if points[-1].effect.kind in LEADING]
    shown = list(found.values()) if everything or not leading else leading
    count = sum(not points[-1].effect.raw for points in shown)
    return KeptHistory(ordered, tuple(_line(points, count) for points in shown), count)


def _line(points: Sequence[HistoryPoint], judged: int) -> HistoryLine:
    effects = [one.effect for one in points]
    how = None if effects[-1].raw else course(_scaled(effects), judged)
    return HistoryLine(tuple(points), how)


def _scaled(effects: Sequence[RecordedEffect]) -> Floats:
    """Return effects on the scale on which changes add up: logarithms of ratios and doses, differences as they are."""
    values = np.array([one.value for one in effects], dtype=float)
    first = effects[-1]
    if first.relative:
        logs: Floats = np.log1p(np.maximum(values, -100 + 1e-9) / 100)
        return logs
    return np.log(values) if first.kind == "margin" and bool((values > 0).all()) else values


# --- in words


def value_text(effect: RecordedEffect) -> str:
    """Write an effect with its interval."""
    return _written(effect, effect.value, (effect.low, effect.high))


def _written(effect: RecordedEffect, value: float, ends: Ends) -> str:
    if effect.kind != "margin" or effect.relative:
        return changed(effect.response, value, ends, effect.relative, effect.unit)
    unit = effect.unit if effect.unit in ("", "/s") else f"\u00a0{effect.unit}"
    low, high = ("…" if end is None or not math.isfinite(end) else number(end) for end in ends)
    return f"{number(value)}{unit} [{low}, {high}]"


def stretch_text(line: HistoryLine, stretch: Stretch) -> str:
    """Write the mean of a stretch with its interval."""
    low, high = (line.written(end) if math.isfinite(end) else None for end in (stretch.low, stretch.high))
    return _written(line.last, line.written(stretch.mean), (low, high))


def sentences(line: HistoryLine) -> Iterator[str]:
    """Say how a line went: each change, what changed with it, and whether the last runs are to be watched."""
    if line.course is None:
        yield f"The last run has {value_text(line.last)}. No change of it is reported: another machine moves it."
        return
    yield from _changes(line, line.course)
    if line.course.watched is not None:
        yield _watch(line, line.course)


def _changes(line: HistoryLine, how: Course) -> Iterator[str]:
    runs = len(line.points)
    if how.verdict is Verdict.TOO_FEW_RUNS:
        yield f"{plural(runs, 'run')}, and a change needs {FEWEST_SIDE} on each side: too few to tell one."
    elif not how.changes:
        yield f"No change is shown in {runs} runs: {stretch_text(line, how.stretches[0])} on average."
    for before, after in zip(how.stretches[:-1], how.stretches[1:], strict=True):
        word = Verdict.HIGHER if after.mean > before.mean else Verdict.LOWER
        since = f"{word.capitalize()} since {run_text(line.points[after.begin])}"
        yield f"{since}: from {stretch_text(line, before)} to {stretch_text(line, after)}.{_circumstances(line, after)}"


def run_text(point: HistoryPoint) -> str:
    """Name a run by its number, its begin and its commit: ``run 31 (2026-05-04, commit 0123abc)``."""
    commit = f", commit {point.run.git_commit[:10]}" if point.run.git_commit else ""
    return f"run {point.number} ({point.run.started[:10]}{commit})"


def _circumstances(line: HistoryLine, after: Stretch) -> str:
    """Say what else changed with the first run of a stretch, which may explain it."""
    differs = differing(line.points[after.begin - 1].run, line.points[after.begin].run)
    return f" With that run changed: {', '.join(differs)}." if differs else ""


def differing(before: HistoryRun, after: HistoryRun) -> list[str]:
    """Return what differs between two runs that may explain a change: the machine, the tool, the study's text."""
    pairs = {
        **{f"machine ({name})": (getattr(before.machine, name), getattr(after.machine, name)) for name in _FACTS},
        "patternbench": (before.patternbench, after.patternbench),
        "number of lanes": (before.lanes, after.lanes),
    }
    found = [f"{name} from {a or 'unknown'} to {b or 'unknown'}" for name, (a, b) in pairs.items() if a != b]
    return [*found, "the study's text"] if before.study_sha256 != after.study_sha256 else found


_FACTS = tuple(MachineFacts.model_fields)


def _watch(line: HistoryLine, how: Course) -> str:
    return (
        f"To be watched: the last runs lie {how.watched} than those before them. A change is reported once "
        f"{FEWEST_SIDE} runs have followed it."
    )


# --- as data


def history_json(found: KeptHistory) -> dict[str, object]:
    """Lay out a history as plain JSON values."""
    return {
        "format": FORMAT,
        "runs": [_run_json(place, run) for place, run in enumerate(found.runs, start=1)],
        "judged_together": found.judged,
        "lines": [_line_json(line) for line in found.lines],
    }


def _run_json(place: int, run: HistoryRun) -> dict[str, object]:
    return {"number": place, **run.model_dump(mode="json", exclude={"history", "effects"})}


def _line_json(line: HistoryLine) -> dict[str, object]:
    last, how = line.last, line.course
    return {
        "key": last.key,
        "kind": last.kind,
        "name": last.name,
        "response": last.response,
        "unit": "%" if last.relative else last.unit,
        "verdict": line.verdict if how else "not judged",
        "watch": str(how.watched) if how and how.watched else None,
        "changes": [point.number for point in line.changed_at],
        "stretches": [_stretch_json(line, one) for one in how.stretches] if how else [],
        "points": [{"run": one.number, **_point_json(one.effect)} for one in line.points],
    }


def _point_json(effect: RecordedEffect) -> dict[str, object]:
    ends = {"value": effect.value, "low": effect.low, "high": effect.high}
    return {**ends, "rounds": effect.rounds, "concluded": effect.concluded or None}


def _stretch_json(line: HistoryLine, one: Stretch) -> dict[str, object]:
    mean, low, high = (line.written(end) if math.isfinite(end) else None for end in (one.mean, one.low, one.high))
    first, last = line.points[one.begin].number, line.points[one.end - 1].number
    return {"first_run": first, "last_run": last, "mean": mean, "low": low, "high": high}
