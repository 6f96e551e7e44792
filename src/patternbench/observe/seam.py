"""The seam of observers, which record more of a round than its attempts, and contribute responses and sections.

Decisions of a limiter, spans of a trace, series of a monitoring system: each is one folder of the package with a file
``observer.py`` (observe/registry.py). The rooms loop over all observers and know none by name:

- the runner has each watch the round, keeps what it wrote, and stores the warnings that it raises;
- the records count a round as damaged when what was kept of it cannot be read any more;
- the table of rounds gets the responses that each computes, which models, comparisons and recommendations take;
- the report shows the sections (``report/section.py`` of the folder), and the export writes the tables.

Where the data come from is the observer's own affair. There are three ways: the logs that components wrote, which are
kept for every observer (``Kept.logs``); an endpoint of the system that it empties or asks when the load is over
(``WatchedRound.endpoints``: a receiver that components send to, a server that holds series).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd

from patternbench.observe.warning import RoundWarning
from patternbench.study.watching import Watch
from patternbench.terms.problems import Problem
from patternbench.terms.responses import Response

Seen = TypeVar("Seen")
"""An observer's reading of the files that were kept with a round."""
Settings = Mapping[str, Any]
"""The settings of the system that a round was measured on, as the plan holds them."""


class ObservationError(Exception):
    """An observer's records of a round are damaged or missing: which file or source, and why."""


@dataclass
class LoadTimes:
    """Start and end of a round's load, in seconds of Unix time; set after the load, before the watch ends.

    ``began`` is the round's start, from which the times of its attempts count; ``measured_from`` the end of its
    warm-up.
    """

    began: float = math.nan
    measured_from: float = math.nan
    ended: float = math.nan


@dataclass(frozen=True)
class WatchedRound:
    """A round that is about to be measured, with its system up.

    ``endpoints`` are the URLs of the components by name, ``processes`` the ids of the processes that started each.
    ``containers`` are, for each Compose project and each of its services (``shop``, ``shop.web``), the files by name in
    which the kernel counts what its containers use. ``folder`` is the observer's own: it does not exist yet; what is
    in it when the watch ends is kept with the round. ``watch`` is what the study asks observers for. ``load`` says when
    the load was, once it is over.
    """

    endpoints: Mapping[str, str]
    folder: Path
    watch: Watch = field(default_factory=Watch)
    load: LoadTimes = field(default_factory=LoadTimes)
    processes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    containers: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class FaultSpan:
    """When a fault acted in a round: its measured begin and end, in seconds from the round's start."""

    began: float
    ended: float


@dataclass(frozen=True)
class RoundFiles:
    """The files kept with a round: those that components wrote, compressed and by component, and an observer's own.

    ``attempts`` is the file of its attempts. ``counting`` is the observer's own folder of the scenario's counting
    pass, where there is one and the reader wants to know. ``faults`` are those that acted, once the round is over.
    """

    logs: Mapping[str, Sequence[Path]]
    folder: Path
    attempts: Path | None = None
    counting: Path | None = None
    faults: Sequence[FaultSpan] = ()


@dataclass(frozen=True)
class Aim:
    """The aim of a recommendation if the study has none: objectives and limits, written as in ``recommend``.

    ``note`` is a caution for choices by such responses.
    """

    objectives: Sequence[str]
    subject_to: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class NeededComponent:
    """A component of the system that an observer asks.

    ``path`` is the field of the study that asks for it, ``purpose`` what it is needed for ("to query for ..."), and
    ``hint`` what to do where a system lacks it. Every scenario's system needs it, or just ``somewhere`` one.
    """

    name: str
    path: str
    purpose: str
    hint: str
    somewhere: bool = False


class Observer(ABC, Generic[Seen]):
    """Records more of a round than its attempts. Only its name and ``read`` are required."""

    name: ClassVar[str]
    """Its folder within what is kept with a round: letters, digits and hyphens."""
    responses: ClassVar[Sequence[Response]] = ()
    """The columns that it adds to the table of rounds."""
    aim: ClassVar[Aim | None] = None
    """The aim of a run with observations of it, if the study has none."""
    tables: ClassVar[Mapping[str, Callable[[object], pd.DataFrame]]] = {}
    """The tables that ``export`` writes of what it has seen in a round, by name."""

    def problems(self, watch: Watch) -> Sequence[Problem]:
        """Problems of a study's requests, as far as they are known before its system is up."""
        return ()

    def needs(self, watch: Watch) -> Sequence[NeededComponent]:
        """Return the components that every scenario's system must have for what the study asks."""
        return ()

    def responses_of(self, watch: Watch) -> Sequence[Response]:
        """Return the columns that it adds to the table of rounds of a study that asks for this."""
        return self.responses

    def watch(self, watched: WatchedRound) -> AbstractContextManager[object]:
        """Watch from before the load until after it; raise ObservationError when that is not possible."""
        return nullcontext()

    @abstractmethod
    def read(self, kept: RoundFiles) -> Seen | None:
        """Return the observations of a round; None if there were none. Raises ObservationError for damaged files."""

    def warnings(self, seen: Seen) -> Sequence[RoundWarning]:
        """Why the round's numbers may mislead."""
        return ()

    def measured(self, seen: Seen, settings: Settings) -> Mapping[str, float]:
        """Return the ``responses`` of a round, by name; one that is missing or undefined is NaN. Pure."""
        return {}
