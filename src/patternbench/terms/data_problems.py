"""Problems that stop an analysis, each with what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class DataProblem:
    """One thing that is wrong: what, where, and what to do about it."""

    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        prefix = f"{self.where}: " if self.where else ""
        return f"{prefix}{self.what}" + (f" {self.remedy}" if self.remedy else "")


class DataError(ValueError):
    """The data or the request cannot be analyzed; it lists every problem found at once."""

    def __init__(self, *problems: DataProblem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Note:
    """Something the analysis did on its own that the reader must know (a fallback taken, a caveat).

    ``kind`` is a stable word for programs: missing, dropped_term, aliased, ...; ``text`` is the sentence.
    """

    kind: str
    text: str


def raise_if_any(problems: Iterable[DataProblem]) -> None:
    """Raise one ``DataError`` that carries all of ``problems``; do nothing when there are none."""
    listed = tuple(problems)
    if listed:
        raise DataError(*listed)


def gathered(*attempts: Callable[[], _T]) -> list[_T]:
    """Return what each attempt gives, or raise one ``DataError`` with the problems of all that fail."""
    results: list[_T] = []
    problems: list[DataProblem] = []
    for attempt in attempts:
        try:
            results.append(attempt())
        except DataError as error:
            problems += error.problems
    raise_if_any(problems)
    return results


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return the sentence that offers the nearest allowed names, or lists them when none is near."""
    names = [str(one) for one in allowed]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    near = near or [one for one in names if one.lower() == name.lower()]
    listed = ", ".join(names[:25]) + (", ..." if len(names) > len(names[:25]) else "")
    return f"Did you mean {near[0]}?" if near else f"Known: {listed}."


def plural(count: int, noun: str) -> str:
    """Return ``count`` and ``noun`` with its plural s: ``1 row``, ``1,200 rows``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def and_more(names: Iterable[str]) -> str:
    """Return the first name, and how many others there are: ``users=80 and 3 more``."""
    listed = list(names)
    return listed[0] + (f" and {len(listed) - 1:,} more" if len(listed) > 1 else "")
