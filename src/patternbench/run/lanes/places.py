"""Places that a run can be carried out at: this machine, or the lanes of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from patternbench.plan.expand import Plan
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import MeasuredCapacity
from patternbench.run.round.executor import Executor, LocalExecutor
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.models import Study

LOCAL = ""
"""The lane of a run that has none: this machine."""
Note = Callable[[str, Mapping[str, object]], None]
"""Adds facts to a part of the manifest."""


@dataclass(frozen=True)
class LaneTask:
    """What a place needs to know of a run: its folder, who drives its rounds, and who hears of it.

    ``on_progress`` hears how a round goes, where it runs here. ``note`` keeps facts in the manifest. ``on_note`` hears
    what is odd about the place.
    """

    folder: RunFolder
    engine_only: bool
    on_progress: Callable[[LoadProgress], None] = lambda _: None
    note: Note = lambda _part, _facts: None
    on_note: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class ReadyLanes:
    """The executor that gives lanes work, and which lanes are up: others may come while rounds run, or be lost.

    ``coming`` are lanes that are being started; one that does not come up is lost.
    """

    executor: Executor
    up: Callable[[], Sequence[str]] = lambda: (LOCAL,)
    coming: Callable[[], Sequence[str]] = tuple
    divided: set[int] = field(default_factory=set)
    """Blocks whose lane was lost before their rounds of an earlier session: they are voided, and to be run again."""


class Place(Protocol):
    """A place to carry a run out at."""

    def ready(self, task: LaneTask) -> AbstractContextManager[ReadyLanes]:
        """Its lanes, up within the context and down after it. Raises InputError where they can't be had."""


@runtime_checkable
class MeasuresCapacity(Protocol):
    """A place that finds the capacity of what it runs rounds of by itself."""

    def capacity(self, study: Study, plan: Plan, declared: DeclaredCapacity, inputs: Inputs) -> MeasuredCapacity:
        """Return the capacity that shares are of; a note says why there is none."""


class LocalPlace:
    """The machine that we are on, which runs one round after another."""

    @contextmanager
    def ready(self, task: LaneTask) -> Iterator[ReadyLanes]:
        """Yield the only lane, which has no name."""
        with LocalExecutor(task.folder, task.engine_only, task.on_progress) as executor:
            yield ReadyLanes(executor)


HERE = LocalPlace()
