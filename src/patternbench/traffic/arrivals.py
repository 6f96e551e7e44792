"""From requests with times to a trace: when each arrives, of whom it is, and which step sends it.

Requests whose paths differ only in numbers and other identifiers are one step; their identifiers come from a feeder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.terms.problems import InputError, Problem
from patternbench.traffic.requests import KeptParts, RecordedRequest, without_secrets

MOST_STEPS = 500
LONGEST_NAME = 190
_IDENTIFIER = re.compile(
    r"\d+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=[0-9a-f]*\d)[0-9a-f]{12,64}", re.IGNORECASE
)
"""What tells one thing of a kind from others in a path or a query: numbers, UUIDs, hashes."""
_SEPARATOR = re.compile(r"([/?&=])")
MARK = "\0"
"""Stands for an identifier; no path has it."""
Shape = tuple[str, tuple[str, ...]]
"""A method with the parts of a path around its identifiers."""


@dataclass(frozen=True)
class Pattern:
    """Requests that differ in identifiers only, with the columns of a feeder for these."""

    method: str
    template: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class RecordedArrivals:
    """A trace: its lines, the steps that it names, and the lines of the feeder, if the steps take any."""

    lines: tuple[tuple[int, int, str], ...]
    patterns: tuple[Pattern, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def lasts_us(self) -> int:
        """How long it lasts."""
        return self.lines[-1][0]

    @property
    def users(self) -> int:
        """How many users it has."""
        return len({user for _, user, _ in self.lines})


def of_requests(requests: Sequence[RecordedRequest], keep: KeptParts, speed: float, spread: bool) -> RecordedArrivals:
    """Return the trace of requests that are in order; ``spread`` spaces those of one second evenly within it.

    Raises InputError where there are more steps than a study can show.
    """
    shapes = [_shape(one, keep) for one in requests]
    patterns = _patterns(dict(shapes))
    users: dict[str, int] = {}
    lines = tuple(
        (at, users.setdefault(one.session, len(users)), patterns[shape].name)
        for at, one, (shape, _) in zip(_times(requests, speed, spread), requests, shapes, strict=True)
    )
    columns = tuple(column for pattern in patterns.values() for column in pattern.columns)
    return RecordedArrivals(lines, tuple(patterns.values()), columns, tuple(_values(shapes, patterns, columns)))


def _shape(one: RecordedRequest, keep: KeptParts) -> tuple[Shape, tuple[str, ...]]:
    parts = _SEPARATOR.split(without_secrets(one.target, keep))
    places = [n for n, part in enumerate(parts) if n and parts[n - 1] in ("/", "=") and _IDENTIFIER.fullmatch(part)]
    found = tuple(parts[place] for place in places)
    for place in places:
        parts[place] = MARK
    return (one.method, tuple(parts)), found


def _patterns(distinct: Mapping[Shape, tuple[str, ...]]) -> dict[Shape, Pattern]:
    if len(distinct) > MOST_STEPS:
        allowed, hint = f"at most {MOST_STEPS}", "leave lines out, such as those of files or of odd queries"
        raise InputError(Problem(f"make {len(distinct):,} different requests", allowed=allowed, hint=hint))
    return {shape: _pattern(number, shape) for number, shape in enumerate(distinct, start=1)}


def _pattern(number: int, shape: Shape) -> Pattern:
    method, parts = shape
    columns = tuple(f"id{number}_{place}" for place in range(1, parts.count(MARK) + 1))
    free = iter(columns)
    template = "".join(f"${{feed.{next(free)}}}" if part == MARK else part for part in parts)
    name = f"{method} {''.join(parts).replace(MARK, '*')}"
    name = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}~{number}"
    return Pattern(method, template, name, columns)


def _times(requests: Sequence[RecordedRequest], speed: float, spread: bool) -> list[int]:
    first = requests[0].at_us
    at = [one.at_us - first for one in requests]
    return [round(moment / speed) for moment in (_spread(at) if spread else at)]


def _spread(at: Sequence[int]) -> Iterator[int]:
    """Yield the times, those of one second spaced evenly within it: a log in whole seconds doesn't say more."""
    counts: dict[int, int] = {}
    for moment in at:
        counts[moment] = counts.get(moment, 0) + 1
    seen: dict[int, int] = {}
    for moment in at:
        place = seen.get(moment, 0)
        seen[moment] = place + 1
        yield moment + place * 1_000_000 // counts[moment]


def _values(
    shapes: Sequence[tuple[Shape, tuple[str, ...]]], patterns: Mapping[Shape, Pattern], columns: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield a line for each arrival: its own identifiers, and for all other steps those that they had last.

    So a step that is taken out of turn, since an arrival was dropped, still asks for something that was asked for.
    """
    if not columns:
        return
    current: dict[str, str] = {}
    for shape, found in reversed(shapes):
        current.update(zip(patterns[shape].columns, found, strict=True))
    for shape, found in shapes:
        current.update(zip(patterns[shape].columns, found, strict=True))
        yield tuple(current[column] for column in columns)
