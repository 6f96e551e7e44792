"""How a round goes, or went: its measures over time with the faults' bands, as plain data for any kind of view."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import ValidationError

from patternbench.analyze.over_time import as_it_went, width_for
from patternbench.records import attempts
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import PlannedScenario
from patternbench.study.faults import Fault, from_plain
from patternbench.terms.quantities import number, quantity

US_PER_S = 1e6
KEPT_LINES = 1200
"""Lines of the load engine that are kept of a round: five minutes."""
Values = Sequence[float | None]


@dataclass(frozen=True)
class Measure:
    """One measure of a round: its name, its latest value in words, its values over time (None where there is none)."""

    name: str
    text: str
    values: Values


@dataclass(frozen=True)
class FaultBand:
    """When a fault acts, in seconds from the round's start; ``ended`` is None for one that lasts to the end."""

    name: str
    began: float
    ended: float | None


@dataclass(frozen=True)
class RoundView:
    """A round that is shown: its name, its place in time in words, and its measures at these ``seconds``.

    ``live`` says that it is being run. ``note`` says what can't be shown of it.
    """

    title: str
    when: str
    live: bool
    seconds: Sequence[float]
    measures: Sequence[Measure]
    bands: Sequence[FaultBand]
    note: str = ""


@dataclass
class RoundHistory:
    """What the load engine has said of the round that runs."""

    scenario: str = ""
    lines: deque[LoadProgress] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))

    def begin(self, scenario: str) -> None:
        """Forget the round before."""
        self.scenario = scenario
        self.lines.clear()

    def add(self, progress: LoadProgress) -> None:
        """Take the next line; one that is earlier than the last one is of another round."""
        if self.lines and progress.elapsed_us < self.lines[-1].elapsed_us:
            self.lines.clear()
        self.lines.append(progress)


def running(scenario: PlannedScenario | None, name: str, history: Sequence[LoadProgress]) -> RoundView:
    """Return the view of the round that runs, from what its load engine has said so far."""
    last = history[-1] if history else LoadProgress()
    length_s = scenario.length_s if scenario else None
    warm_up_s = (last.measured_from_us or 0) / US_PER_S
    ends = None if length_s is None else length_s + warm_up_s
    note = "" if history else "The client of this round says nothing until the round is over."
    return RoundView(
        title=name,
        when=_clock(last.elapsed_us / US_PER_S, ends),
        live=True,
        seconds=[line.elapsed_us / US_PER_S for line in history],
        measures=_measures(history),
        bands=bands_of(scenario, warm_up_s) if scenario else [],
        note=note,
    )


def recorded(run: RunFolder, entry: Entry, name: str) -> RoundView:
    """Return the view of a round that is over, from its attempts. Raises OSError where they can't be read."""
    width = width_for(max(entry.seconds, 1.0))
    went = as_it_went(attempts.of_round(run.attempts_of(entry.file)), width)
    columns = {str(column): [_or_none(value) for value in went[column]] for column in went.columns}
    seconds = [value or 0.0 for value in columns.pop("second")]
    bands = [FaultBand(one.name, one.began_us / US_PER_S, one.ended_us / US_PER_S) for one in entry.faults]
    when = f"round {entry.round} of block {entry.block + 1}, as it went"
    return RoundView(name, when, False, seconds, list(_of_columns(columns)), bands)


def bands_of(scenario: PlannedScenario, measured_from_s: float) -> list[FaultBand]:
    """Return when the faults of a scenario act, by its configuration; windows count from the end of the warm-up."""
    return [band for name, fault in _faults(scenario) for band in _bands(name, fault, measured_from_s)]


def _faults(scenario: PlannedScenario) -> Iterator[tuple[str, Fault]]:
    for name, written in scenario.config.faults.items():
        try:
            fault = from_plain(name, written)
        except ValidationError:
            continue
        if fault.acts:
            yield name, fault


def _bands(name: str, fault: Fault, measured_from_s: float) -> Iterator[FaultBand]:
    if not fault.windows:
        yield FaultBand(name, 0.0, None)
    for window in fault.windows:
        ends = None if window.ends_us is None else window.ends_us / US_PER_S + measured_from_s
        yield FaultBand(name, window.begins_us / US_PER_S + measured_from_s, ends)


def _clock(elapsed_s: float, length_s: float | None) -> str:
    if not elapsed_s:
        return "begins"
    if length_s is None:
        return f"{elapsed_s:.1f} s"
    return "waiting for the last answers" if elapsed_s > length_s else f"{elapsed_s:.1f} of {length_s:g} s"


# --- measures of what the load engine says


def _measures(lines: Sequence[LoadProgress]) -> list[Measure]:
    """Return each measure as it was between two lines."""
    last = lines[-1] if lines else LoadProgress()
    offered = [*_per_second(lines, lambda one: one.requests + one.dropped + one.in_flight)]
    answered = [*_per_second(lines, lambda one: sum(one.statuses.values()))]
    share = [*_share(lines)]
    p50, p99 = [one.response_ms.p50 for one in lines], [one.response_ms.p99 for one in lines]
    late = [one.lateness_ms.p99 if one.lateness_ms else None for one in lines]
    failed = f"{_percent(_newest(share))}, {last.errors:,} so far"
    return [
        Measure("offered", _rate(_newest(offered)), offered),
        Measure("answered", _rate(_newest(answered)), answered),
        Measure("p50", _milliseconds(_newest(p50)), p50),
        Measure("p99", _milliseconds(_newest(p99)), p99),
        Measure("failed", failed if lines else "–", share),
        Measure("in flight", f"{last.in_flight:,}" if lines else "–", [float(one.in_flight) for one in lines]),
        *(
            [Measure("dropped", f"{last.dropped:,} so far", [float(one.dropped) for one in lines])]
            if last.dropped
            else []
        ),
        Measure("late p99", _milliseconds(_newest(late)), late),
    ]


def _per_second(lines: Sequence[LoadProgress], count: Callable[[LoadProgress], float]) -> Iterator[float | None]:
    """Yield how fast a count grew since the line before."""
    if lines:
        yield _speed(LoadProgress(), lines[0], count)
    for before, line in pairwise(lines):
        yield _speed(before, line, count)


def _speed(before: LoadProgress, line: LoadProgress, count: Callable[[LoadProgress], float]) -> float | None:
    passed_s = (line.elapsed_us - before.elapsed_us) / US_PER_S
    return max(0.0, (count(line) - count(before)) / passed_s) if passed_s > 0 else None


def _share(lines: Sequence[LoadProgress]) -> Iterator[float | None]:
    """Yield how many percent of the attempts that ended since the line before had failed."""
    for before, line in zip([LoadProgress(), *lines], lines, strict=False):
        ended = line.requests - before.requests
        yield 100 * (line.errors - before.errors) / ended if ended > 0 else None


# --- measures of recorded attempts


def _of_columns(columns: dict[str, list[float | None]]) -> Iterator[Measure]:
    """Yield the measures of a round that is over; its words are the medians over its steps."""
    words: dict[str, tuple[str, Callable[[float | None], str]]] = {
        "offered": ("offered", _rate),
        "answered": ("answered", _rate),
        "p50_ms": ("p50", _milliseconds),
        "p99_ms": ("p99", _milliseconds),
        "failed": ("failed", _percent),
        "late_p99_ms": ("late p99", _milliseconds),
    }
    for column, (name, said) in words.items():
        yield Measure(name, said(_middle(columns[column])), columns[column])


def _middle(values: Values) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None


def _newest(values: Iterable[float | None]) -> float | None:
    return next((value for value in reversed([*values]) if value is not None), None)


def _or_none(value: object) -> float | None:
    found = float(str(value))
    return found if math.isfinite(found) else None


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{number(value)}/s"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{number(value)} %"


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else quantity("p50", value / 1000)
