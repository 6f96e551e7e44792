"""A load that several generators make, each a part of it: they begin at one instant, and what comes of them is united.

Where a generator runs is the affair of its place. Each judges its own lateness. If one is lost, its share of the load
is missing: the others are ended, and the round is not valid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Protocol

from patternbench.drivers.at_once import at_once
from patternbench.drivers.clocks import ClockOffset, offset
from patternbench.drivers.driver import DriverError
from patternbench.drivers.load import SILENCE_S, Load, united_by_engine
from patternbench.drivers.origins import Job
from patternbench.records import united
from patternbench.records.folder import write_json
from patternbench.records.load_summaries import (
    ATTEMPTS,
    SUMMARY,
    GeneratorOfLoad,
    LoadPart,
    LoadProgress,
    LoadSummary,
    LoadWarning,
    Percentiles,
)
from patternbench.terms.units import NS_PER_S, NS_PER_US

LEAD_NS = 500_000_000
"""How long before they begin generators are told when: long enough for the slowest to hear it."""
MOST_LEAD_NS = round(SILENCE_S / 2 * NS_PER_S)
"""How long that may be at most: a generator says nothing meanwhile, and must not count as hung."""
STOP_S, END_S = 20.0, 30.0
"""How long generators together have to hear that they are to stop, and to be gone, in seconds."""
APART_NS = 1_000_000
"""How far apart the clocks of two generators may be before that is worth a word."""
GENERATOR_LOST, CLOCKS_APART = "generator_lost", "clocks_apart"


class EarlyEndError(DriverError):
    """The load was asked to end while its generators got ready, so that there is nothing to show."""


class Generator(Protocol):
    """One generator of a load, wherever it runs."""

    summary: LoadSummary | None
    """What came of it, once its progress has ended."""

    def ready(self) -> None:
        """Return once it can begin; raises JobError or DriverError if it can't."""

    def now_ns(self) -> int:
        """Return the wall clock of its machine, in nanoseconds since 1970; raises DriverError where it is gone."""

    def begin(self, at_ns: int) -> None:
        """Let it begin at a moment of that clock."""

    def progress(self) -> Iterator[LoadProgress]:
        """Its messages to its end, with its files in its folder here; raises DriverError if it doesn't get there."""

    def stop(self) -> None:
        """Ask it to end early."""


class GeneratorPlace(Protocol):
    """Where generators run."""

    def start(self, name: str, job: Job, out: Path, logs: Path) -> AbstractContextManager[Generator]:
        """Return a generator for a part of a load, which leaves its files in ``out``, and is gone after the context."""


class ThisMachine:
    """The machine that we are on."""

    def start(self, name: str, job: Job, out: Path, logs: Path) -> AbstractContextManager[Generator]:
        """Return a process of this machine."""
        return Load(job, out, logs, name)


HERE = ThisMachine()


class AnyLoad(Protocol):
    """A load at work, by one generator or by several."""

    summary: LoadSummary | None

    def progress(self) -> Iterator[LoadProgress]:
        """How it goes; raises JobError or DriverError if it doesn't get to its end."""

    def stop(self) -> None:
        """Ask it to end early."""


def opened(job: Job, out: Path, logs: Path, place: GeneratorPlace = HERE) -> AbstractContextManager[AnyLoad]:
    """Return a job at work, by as many generators as it asks for."""
    return SplitLoad(job, out, logs, place) if parts_of(job) > 1 else Load(job, out, logs)


def parts_of(job: Job) -> int:
    """How many generators make the load of a job."""
    part = job.get("part")
    return int(part["of"]) if isinstance(part, dict) else 1


@dataclass
class _WorkingGenerator:
    """A generator at work: its part, its folder, and what is known of its clock and its end."""

    part: LoadPart
    out: Path
    generator: Generator
    clock: ClockOffset = field(default_factory=lambda: ClockOffset(0, 0))
    latest: LoadProgress | None = None
    lost: str | None = None


class SplitLoad:
    """A load at work on several generators. Use as a context: all are gone on leaving."""

    def __init__(
        self,
        job: Job,
        out: Path,
        logs: Path,
        place: GeneratorPlace = HERE,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._out, self._logs, self._clock = out, logs, clock
        self._asked_to_end = False
        self._messages: SimpleQueue[tuple[int, LoadProgress | Exception | None]] = SimpleQueue()
        self.summary: LoadSummary | None = None
        self._stopping, self._lock = False, Lock()
        self._stops: SimpleQueue[bool] = SimpleQueue()
        self._stopper = Thread(target=self._stop_when_asked, daemon=True)
        self._stopper.start()
        self._ends: list[ExitStack] = []
        of = parts_of(job)
        with ExitStack() as stack:
            stack.callback(self._end)
            self._running = [self._started(job, LoadPart(index=index, of=of), place) for index in range(of)]
            self._stack = stack.pop_all()

    def _started(self, job: Job, part: LoadPart, place: GeneratorPlace) -> _WorkingGenerator:
        name = f"generator-{part.index + 1}"
        mine = {**job, "part": {"index": part.index, "of": part.of}}
        self._ends.append(ExitStack())
        generator = self._ends[-1].enter_context(place.start(name, mine, self._out / name, self._logs))
        return _WorkingGenerator(part, self._out / name, generator)

    def _end(self) -> None:
        self._stops.put(False)
        self._stopper.join(STOP_S)
        at_once([end.close for end in self._ends], END_S)

    def progress(self) -> Iterator[LoadProgress]:
        """How all of them are doing together.

        Raises JobError, DriverError if none of them gets to its end, and EarlyEndError.
        """
        try:
            self._begin()
            yield from self._progress_of_all()
            self._unite()
        except DriverError as error:
            if self._asked_to_end and not any(one.latest for one in self._running):
                raise EarlyEndError("the load was ended before it began") from error
            raise

    def _begin(self) -> None:
        """Let all begin at one instant, each by its own clock, once all are ready."""
        for one in self._running:
            with _naming(one.part):
                one.generator.ready()
                one.clock = offset(one.generator.now_ns, self._clock)
        at_ns = self._clock() + self._lead_ns()
        for one in self._running:
            one.generator.begin(at_ns + one.clock.ns)

    def _lead_ns(self) -> int:
        """How long before they begin they have to be told. Raises DriverError where that is too long."""
        slowest = max(self._running, key=lambda one: one.clock.uncertainty_ns)
        lead_ns = LEAD_NS + 4 * slowest.clock.uncertainty_ns * len(self._running)
        if lead_ns > MOST_LEAD_NS:
            took = f"took {2 * slowest.clock.uncertainty_ns / NS_PER_S:.2f} s for its quickest answer"
            needed = f"{len(self._running)} generators would have to be told {lead_ns / NS_PER_S:.1f} s ahead to begin"
            allowed = f"at most {MOST_LEAD_NS / NS_PER_S:.1f} s are allowed"
            remedy = "take fewer generators, or machines that are nearer and less busy"
            raise DriverError(f"{slowest.part.name} {took}, so that {needed}; {allowed}: {remedy}")
        return lead_ns

    def _progress_of_all(self) -> Iterator[LoadProgress]:
        """Yield their progress together, each time that all of them have reported since the last one."""
        for number, one in enumerate(self._running):
            Thread(target=self._listen, args=(number, one.generator), daemon=True).start()
        left, fresh = set(range(len(self._running))), set[int]()
        while left:
            number, message = self._messages.get()
            if isinstance(message, LoadProgress):
                self._running[number].latest = message
                fresh.add(number)
            else:
                left.discard(number)
                self._ended(self._running[number], message)
            if fresh and fresh >= left:
                fresh.clear()
                yield together([one.latest for one in self._running if one.latest])

    def _listen(self, number: int, generator: Generator) -> None:
        """Queue the messages of a generator, and then how it ended."""
        try:
            for message in generator.progress():
                self._messages.put((number, message))
            self._messages.put((number, None))
        except Exception as error:  # Whatever a place raises, its generator is lost.
            self._messages.put((number, error))

    def _ended(self, one: _WorkingGenerator, error: Exception | None) -> None:
        """Take note of a generator's end; where it is lost, the load of the others says nothing any more."""
        if error is not None:
            one.lost = str(error) or type(error).__name__
            self._stop_all()

    def _unite(self) -> None:
        """Put together what has come of those that are left."""
        left = [one for one in self._running if one.lost is None]
        if not left:
            raise DriverError("; ".join(f"{one.part.name} was lost: {one.lost}" for one in self._running))
        files = [one.out / ATTEMPTS for one in left if (one.out / ATTEMPTS).is_file()]
        if files:
            united.unite(files, self._out / ATTEMPTS)
        made = united_by_engine([one.out for one in left], self._out, self._logs)
        self.summary = self._judged(made)
        write_json(self._out / SUMMARY, self.summary.model_dump(mode="json", exclude_unset=True))
        for file in files:
            file.unlink()

    def _judged(self, made: LoadSummary) -> LoadSummary:
        """Return the summary with what each generator's clock and end were, and the warnings about them."""
        by_part = {one.part: one for one in made.generators}
        generators = [_as_recorded(one, by_part) for one in self._running]
        warnings = [*made.doubts, *(warning for one in self._running for warning in _warnings(one))]
        valid = not any(warning.invalidates for warning in warnings)
        # Where one is lost we have ended the others, which says nothing more.
        interrupted = self._asked_to_end or (made.interrupted and not any(one.lost for one in self._running))
        changes = {"generators": generators, "doubts": warnings, "valid": valid, "interrupted": interrupted}
        return made.model_copy(update=changes)

    def stop(self) -> None:
        """Ask all of them to end early: everything is written as usual."""
        self._asked_to_end = True
        self._stops.put(True)

    def _stop_when_asked(self) -> None:
        """Stop them in a thread of our own: who asks may be a handler of signals, which must start no thread itself."""
        while self._stops.get():
            with suppress(Exception):  # one that can't be asked is ended with the others
                self._stop_all()

    def _stop_all(self) -> None:
        """Ask all of them to end, unless they were asked before: those that are gone would hold us up each time."""
        with self._lock:
            before, self._stopping = self._stopping, True
        if not before:
            at_once([one.generator.stop for one in self._running], STOP_S)

    def __enter__(self) -> SplitLoad:
        """Use as a context: all generators are gone on leaving."""
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


@contextmanager
def _naming(part: LoadPart) -> Iterator[None]:
    """Name the generator in what goes wrong with it before the load begins."""
    try:
        yield
    except DriverError as error:
        raise DriverError(f"{part.name} was lost before the load began: {error}") from None


def _as_recorded(one: _WorkingGenerator, by_part: Mapping[LoadPart, GeneratorOfLoad]) -> GeneratorOfLoad:
    known = by_part.get(one.part, GeneratorOfLoad(part=one.part))
    clock = {
        "clock_offset_us": one.clock.ns / NS_PER_US,
        "clock_uncertainty_us": one.clock.uncertainty_ns / NS_PER_US,
    }
    return known.model_copy(update={**clock, "lost": one.lost})


def _warnings(one: _WorkingGenerator) -> Iterator[LoadWarning]:
    if one.lost is not None:
        message = f"{one.part.name} was lost, and its share of the load is missing: {one.lost}"
        remedy = "find out what ended it, then run the round again"
        yield LoadWarning(name=GENERATOR_LOST, message=message, remedy=remedy, invalidates=True)
    if one.clock.most_ns > APART_NS:
        apart, uncertain = one.clock.ns / 1e6, one.clock.uncertainty_ns / 1e6
        where = f"{abs(apart):.2f} ms {'ahead' if apart >= 0 else 'behind'}, give or take {uncertain:.2f} ms"
        message = f"the clock of {one.part.name} was {where}; it began by its own clock, set right by that"
        remedy = "let chrony or another NTP client keep the clocks of the machines together"
        yield LoadWarning(name=CLOCKS_APART, message=message, remedy=remedy, invalidates=False)


def together(progress: Sequence[LoadProgress]) -> LoadProgress:
    """Return the progress of several generators as that of one.

    Counts are added, and times are those of the slowest of them. Percentiles can't be put together. While the load runs
    the worst ones are shown; the summary is exact.
    """
    started = [one.measured_from_us for one in progress if one.measured_from_us is not None]
    return LoadProgress(
        elapsed_us=max(one.elapsed_us for one in progress),
        measured_from_us=max(started, default=None),
        requests=sum(one.requests for one in progress),
        errors=sum(one.errors for one in progress),
        dropped=sum(one.dropped for one in progress),
        in_flight=sum(one.in_flight for one in progress),
        rate_per_s=sum(one.rate_per_s for one in progress),
        response_ms=_worst([one.response_ms for one in progress]),
        statuses=_added([one.statuses for one in progress]),
        lateness_ms=_worst([one.lateness_ms for one in progress if one.lateness_ms]),
    )


def _worst(times: Sequence[Percentiles]) -> Percentiles:
    def worst(name: str) -> float | None:
        values = [value for one in times if (value := getattr(one, name)) is not None]
        return max(values, default=None)

    return Percentiles(**{name: worst(name) for name in Percentiles.model_fields})


def _added(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = sorted({name for one in counts for name in one})
    return {name: sum(one.get(name, 0) for one in counts) for name in names}
