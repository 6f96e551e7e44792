"""Which failures of a call something acts on: words of ours, and statuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Failures = frozenset[str | int]
WORDS = ("timeout", "connection_error", "expectation_failed")
EVERY: Failures = frozenset({*WORDS, *range(400, 600)})
"""Every failure that a call can have: an answer from 200 to 399 is good."""
SERVER: Failures = frozenset(range(500, 600))
CLIENT: Failures = frozenset(range(400, 500))
UNANSWERED: Failures = frozenset({"timeout", "connection_error"})


def listed(failures: Failures) -> list[str | int] | None:
    """Return failures as ``on`` of a study lists them; None for every failure, of which a study says nothing."""
    if failures == EVERY:
        return None
    statuses = sorted(one for one in failures if isinstance(one, int))
    words: list[str | int] = [word for word in WORDS if word in failures]
    return [*words, *(low if low == high else f"{low}-{high}" for low, high in _runs(statuses))]


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of numbers that follow each other."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[1] + 1:
            yield run[0], run[1]
            run = []
        run = [run[0] if run else number, number]
    if run:
        yield run[0], run[1]
