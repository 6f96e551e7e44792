"""The machine that measures: what it is, and what on it disturbs measurements."""

from __future__ import annotations

import math
import os
import platform
import resource
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from patternbench.terms.data_problems import plural

BUSY_LOAD = 0.5
"""Load per core before a run above which other work disturbs it."""
FEW_FILES = 4096
ENOUGH_CORES = 4
"""From this number of cores on, the system under test can do without one."""
NICENESS_RANGE = 40
CAP_SYS_NICE = 1 << 23
PROC = Path("/proc")
"""Where the kernel lists processes."""


@dataclass(frozen=True)
class Disturbance:
    """Something about this machine that will disturb measurements, and its remedy."""

    what: str
    remedy: str


def facts() -> dict[str, object]:
    """Return the facts of this machine that a reader needs to judge its figures."""
    return {
        "system": platform.platform(),
        "kernel": platform.release(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "governor": governor(),
        "python": platform.python_version(),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "load_at_start": os.getloadavg()[0],
    }


def cpu_model() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8", "replace").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def governor() -> str | None:
    """Return the frequency governor of the first core, if the kernel reports it."""
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return path.read_text("utf-8", "replace").strip() if path.exists() else None


def disturbances() -> list[Disturbance]:
    """Return the current disturbances of measurements on this machine."""
    disturbing = []
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] / cores
    if load > BUSY_LOAD:
        disturbing.append(Disturbance(f"other work keeps the machine busy (load {load:.1f} per core)", "stop it first"))
    if cores < 4:  # noqa: PLR2004 - generator, proxy, target and patternbench each want one
        text = f"generator, proxy and target share {plural(cores, 'core')}"
        disturbing.append(Disturbance(text, "compare scenarios with each other, not with other machines"))
    if governor() not in (None, "performance"):
        disturbing.append(Disturbance(f"the CPU frequency governor is {governor()}", "set it to performance"))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < FEW_FILES:
        disturbing.append(Disturbance(f"a process may open only {limit} files", "type `ulimit -n 65536` first"))
    if psutil.swap_memory().percent > 10:  # noqa: PLR2004
        disturbing.append(Disturbance("memory is being swapped", "free memory or switch swap off"))
    return disturbing


def generator_core(cores: Collection[int]) -> int | None:
    """Return the core that a generator gets for itself, or None where the system under test needs them all."""
    return max(cores) if len(cores) >= ENOUGH_CORES else None


def spare_cores(cores: Collection[int], bound: Collection[int]) -> tuple[int, ...]:
    """Return the cores to which no component is bound; none where no component is bound to any."""
    return tuple(sorted(set(cores) - set(bound))) if bound else ()


@contextmanager
def kept_free(expected: bool) -> Iterator[int | None]:
    """Keep one core free of all that is started meanwhile; the generator binds itself to it. None where none is."""
    allowed = os.sched_getaffinity(0)
    core = generator_core(allowed) if expected else None
    if core is None:
        yield None
        return
    os.sched_setaffinity(0, allowed - {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, allowed)


def urgency_allowed() -> bool:
    """Whether a process may make itself more urgent than others here."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= NICENESS_RANGE:
        return True
    lines = Path("/proc/self/status").read_text("utf-8", "replace").splitlines()
    held = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(held, 16) & CAP_SYS_NICE)


@dataclass(frozen=True)
class MachineUse:
    """Shares of the machine's CPU time in a span: busy, of which by this run's own processes, and kept from us.

    ``started_s`` are the CPU seconds of the processes that this one has started, without its own.
    """

    busy: float
    own: float
    stolen: float
    started_s: float = 0.0

    @property
    def others(self) -> float:
        """The share that processes took which this run did not start."""
        return max(self.busy - self.own, 0.0)


@dataclass(frozen=True)
class Meter:
    """The processors' time counters at a moment, in seconds; two of them tell who used the machine in between.

    ``here`` is the part of ``own`` that this process took itself.
    """

    busy: float
    own: float
    stolen: float
    total: float
    here: float = 0.0

    @classmethod
    def read(cls, contained_s: float = 0.0) -> Meter:
        """Return the counters now; ``contained_s`` is what containers of this run have taken, as its own."""
        times = psutil.cpu_times()
        total = float(sum(times))
        busy = total - times.idle - getattr(times, "iowait", 0.0)
        return cls(busy, _own_seconds() + contained_s, getattr(times, "steal", 0.0), total, time.process_time())

    def since(self, before: Meter) -> MachineUse:
        """How the machine was used since an earlier reading."""
        span = max(self.total - before.total, 1e-9)
        own = max(self.own - before.own, 0.0)
        started_s = max(own - (self.here - before.here), 0.0)
        return MachineUse((self.busy - before.busy) / span, own / span, (self.stolen - before.stolen) / span, started_s)


def _own_seconds() -> float:
    """Return the CPU time of this process and of all that descend from it, those that ended meanwhile included."""
    return sum(map(_seconds, [os.getpid(), *descendants(os.getpid())]))


def seconds_below(pid: int) -> float:
    """Return the CPU time of all that descend from a process, ended ones included; NaN once it is gone."""
    return sum(map(_seconds, descendants(pid))) if psutil.pid_exists(pid) else math.nan


def bytes_below(pid: int) -> float:
    """Return the memory of all that descend from a process; NaN once it is gone, or where the kernel tells none.

    Pages that several processes share count in each by its part (PSS), so that workers of a server aren't counted
    several times for the same memory.
    """
    try:
        return float(sum(psutil.Process(one).memory_full_info().pss for one in descendants(pid)))
    except (psutil.Error, AttributeError):
        return math.nan


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that descend from one, by the kernel's lists of children.

    Where it keeps none, every process of the machine is looked at, which takes milliseconds, twice per round.
    """
    if not (PROC / str(os.getpid()) / "task" / str(os.getpid()) / "children").exists():
        yield from (child.pid for child in psutil.Process(pid).children(recursive=True))
        return
    for child in _children(pid):
        yield child
        yield from descendants(child)


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none once it is gone."""
    children: list[int] = []
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            children += map(int, (task / "children").read_text("utf-8", "replace").split())
    return children


def _seconds(pid: int) -> float:
    """Return a process's CPU time with that of the children it has waited for; none once it is gone."""
    try:
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    except psutil.Error:
        return 0.0
