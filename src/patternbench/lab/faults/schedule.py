"""The faults of one round: each begins and ends at its time, and all of them end with the round, however that ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.acting import act_of
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault, by_name
from patternbench.terms.units import NS_PER_US

S_IN_NS = 1_000_000_000


@dataclass(frozen=True, order=True)
class Moment:
    """When a fault begins or ends, in microseconds from the start of measuring; ends come first."""

    at_us: int
    begins: bool
    name: str


@dataclass(frozen=True)
class FaultOutcome:
    """A fault that has acted: from when to when, in nanoseconds of the monotonic clock, and what it did."""

    name: str
    fault: Fault
    began_ns: int
    ended_ns: int
    counters: FaultCounters


def moments(faults: Mapping[str, Fault]) -> list[Moment]:
    """Return the begins and ends of faults with windows in a round, in order."""
    return sorted(moment for name, fault in faults.items() for moment in _of_fault(name, fault))


def _of_fault(name: str, fault: Fault) -> Iterator[Moment]:
    for window in fault.windows:
        yield Moment(window.begins_us, True, name)
        if window.ends_us is not None:
            yield Moment(window.ends_us, False, name)


class FaultSchedule:
    """The faults of a scenario while a round runs. Use as a context around the load.

    Faults without windows act from entering to leaving. Those with windows follow in a thread of their own once
    ``start`` has said when measuring begins. Leaving ends all faults that still act, and raises StartError if a fault
    couldn't begin or end. ``clock`` is monotonic, in nanoseconds; ``wait`` waits for seconds, or until the round is
    over, and says whether it is.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        environment: Environment,
        clock: Callable[[], int] = time.monotonic_ns,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.acted: list[FaultOutcome] = []
        self._clock = clock
        self._over = threading.Event()
        self._wait = wait or self._over.wait
        self._setup = FaultSetup(environment, clock)
        self._faults = {name: fault for name, fault in by_name(faults).items() if fault.acts}
        self._acting: dict[str, tuple[Act, int]] = {}
        self._wrong: list[str] = []
        self._thread: threading.Thread | None = None

    def start(self, measured_from_ns: int) -> None:
        """Let windows follow; they count from this moment, at which measuring begins."""
        coming = moments(self._faults)
        if coming and self._thread is None:
            self._thread = threading.Thread(target=self._follow, args=(coming, measured_from_ns), daemon=True)
            self._thread.start()

    def _follow(self, coming: Sequence[Moment], zero_ns: int) -> None:
        for moment in coming:
            left_ns = zero_ns + moment.at_us * NS_PER_US - self._clock()
            if self._wait(max(left_ns / S_IN_NS, 0.0)) or not self._try(moment.name, moment.begins):
                return

    def _try(self, name: str, begins: bool) -> bool:
        """Begin or end a fault; whether that was possible, the reason is kept."""
        try:
            if begins:
                self._begin(name)
            else:
                self._end(name)
        except (StartError, OSError) as error:
            self._wrong.append(f"fault {name} could not {'begin' if begins else 'end'}: {error}")
        return not self._wrong

    def _begin(self, name: str) -> None:
        act = act_of(self._faults[name], name, self._setup)
        # It is undone even if it fails half-way, or another error ends the round while it begins.
        self._acting[name] = (act, self._clock())
        self._acting[name] = (act, act.begin())

    def _end(self, name: str) -> None:
        act, began = self._acting.pop(name)
        ended, counters = act.end()
        self.acted.append(FaultOutcome(name, self._faults[name], began, ended, counters))

    def __enter__(self) -> FaultSchedule:
        """Begin the faults of the whole round; raises StartError, with all undone, when one cannot."""
        try:
            for name, fault in self._faults.items():
                if not fault.when:
                    self._begin(name)
        except BaseException:
            self._undo()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._undo()
        if self._wrong and kind is None:
            raise StartError("; ".join(self._wrong))

    def _undo(self) -> None:
        """End the thread, then every fault that still acts, the youngest first; one that fails keeps no other."""
        self._over.set()
        if self._thread:
            self._thread.join()
        for name in reversed(list(self._acting)):
            self._try(name, begins=False)
        self._setup.leave()
        if self._wrong:
            self._setup.environment.spoil("; ".join(self._wrong))
