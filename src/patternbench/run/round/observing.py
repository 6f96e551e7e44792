"""Has every observer watch a round, and keeps what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from patternbench.observe.registry import observers
from patternbench.observe.seam import LoadTimes, WatchedRound
from patternbench.observe.warning import RoundWarning
from patternbench.records import component_logs, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import ActedFault
from patternbench.study.watching import NOTHING_ASKED, Watch

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Observation:
    """The observations of a driven round, which aren't stored yet."""

    run: RunFolder
    round_name: str
    load: LoadTimes

    def load_over(self, began_ns: int, measured_from_ns: int) -> None:
        """Tell the observers when the load was, by the monotonic clock, now that it is over."""
        unix_ns = time.time_ns() - time.monotonic_ns()
        self.load.began, self.load.measured_from = (
            (unix_ns + moment) / NS_PER_S for moment in (began_ns, measured_from_ns)
        )
        self.load.ended = time.time()

    def keep(self, logs: Mapping[str, Sequence[Path]], faults: Sequence[ActedFault] = ()) -> list[RoundWarning]:
        """Keep it with the files that components wrote, and say which warnings it raises.

        ``faults`` are those that acted. Raises ObservationError when what was written cannot be read, OSError when it
        cannot be kept.
        """
        if logs:
            component_logs.keep(self.run, self.round_name, logs)
        observed.keep(self.run, self.round_name)
        return observed.warnings(self.run, self.round_name, faults)


@contextmanager
def watched(
    run: RunFolder,
    round_name: str,
    endpoints: Mapping[str, str],
    watch: Watch = NOTHING_ASKED,
    processes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    *,
    containers: Mapping[str, Sequence[Mapping[str, str]]] = MappingProxyType({}),
) -> Iterator[Observation]:
    """Have every observer watch what is done within; ``endpoints`` are the components' URLs by name.

    ``processes`` are the ids of the processes that started each component, ``containers`` the files that meter those of
    Compose projects, ``watch`` is what the study asks them for.
    Raises ObservationError when one cannot.
    """
    draft, load = observed.draft(run, round_name), LoadTimes()
    with ExitStack() as watches:
        for observer in observers():
            seen = WatchedRound(endpoints, draft / observer.name, watch, load, processes, containers)
            watches.enter_context(observer.watch(seen))
        yield Observation(run, round_name, load)
