"""Rounds that are added to a run: in batches, each decided on after the one before, and written before it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from patternbench.plan.order import Round
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedLook, PlannedRound


def batches(todo: Sequence[Round], more: Callable[[], Sequence[Round]]) -> Iterator[Sequence[Round]]:
    """Yield the rounds to do, then what ``more`` adds until that is nothing; each time after all before it."""
    if todo:
        yield todo
    while batch := more():
        yield batch


def store(folder: RunFolder, rounds: Sequence[Round], looks: Sequence[PlannedLook] | None = None) -> None:
    """Write the rounds of a run to its plan, and how was looked; nothing is written where the plan has them."""
    planned = stored.plan(folder)
    changed: dict[str, object] = {"rounds": [PlannedRound(**vars(one)) for one in rounds]}
    changed |= {} if looks is None else {"looks": list(looks)}
    if any(getattr(planned, name) != value for name, value in changed.items()):
        stored.write_plan(folder, planned.model_copy(update=changed))
