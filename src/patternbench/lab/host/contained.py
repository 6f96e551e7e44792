"""What a component says of programs that run for it in containers: where else it is reached, and what they cost.

Containers aren't processes of ours: their CPU time stands in control groups of their engine, and that of the proxies
which pass on published ports in the counters of these processes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

ALSO, COUNTERS, METERS, NOTE, PARENTS = "also", "counters", "meters", "note", "parents"
"""The keys under which a component announces further places of its first service, counters, meters, warnings, and who
of the engine looks after each container."""
STARTED = "started"
"""The key of the services that were started for a change of settings."""
STATED = "stated.json"
"""The file, in the component's folder, that says the same as it announced, as it is since its settings changed."""
PROC, MOUNTS = Path("/proc"), Path("/proc/self/mountinfo")
PORT_PROXY = "docker-proxy"
_USAGE_NS, _STAT = "cpuacct.usage", "cpu.stat"
_GROUP_FILES = {
    "cpuacct": (_USAGE_NS, _STAT),
    "cpu": (_STAT, _STAT),
    "memory": ("memory.usage_in_bytes", "memory.current"),
}
"""The file of each controller of control groups, of an older kernel and of version 2."""
_NS, _US = 1e-9, 1e-6
_MIB = 1024**2


@dataclass(frozen=True)
class ContainerUse:
    """What a container has used so far: CPU seconds, of its life those in which it was throttled, and memory in MiB.

    ``group`` is another number where the container was restarted, and counts from 0 again.
    """

    cpu_s: float
    throttled_s: float
    memory_mib: float
    group: int

    def since(self, before: ContainerUse) -> ContainerUse:
        """Return what it has used since an earlier reading; NaN where it was restarted in between."""
        if self.group != before.group:
            return UNKNOWN_USE
        return replace(self, cpu_s=self.cpu_s - before.cpu_s, throttled_s=self.throttled_s - before.throttled_s)


UNKNOWN_USE = ContainerUse(math.nan, math.nan, math.nan, -1)


@dataclass(frozen=True)
class ContainerMeter:
    """The files in which the kernel counts what a container of a service uses: its control groups'."""

    service: str
    cpu: str
    throttled: str
    memory: str

    def read(self) -> ContainerUse:
        """Return what it has used so far; NaN once it is gone."""
        if not (self.cpu and self.throttled and self.memory):
            return UNKNOWN_USE
        with suppress(OSError, ValueError):
            group = Path(self.cpu).stat().st_ino
            return ContainerUse(counted(self.cpu), _throttled_s(self.throttled), _memory_mib(self.memory), group)
        return UNKNOWN_USE


@dataclass(frozen=True)
class ComponentContainers:
    """Further places of a component's first service, the counters of its containers' CPU time, and their meters.

    ``parents`` are the processes of the engine that look after a container each, and after nothing else.
    """

    also: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    meters: tuple[ContainerMeter, ...] = ()

    def cpu_seconds(self) -> float:
        """Return the CPU time that its containers have taken so far."""
        return sum(map(counted, self.counters))


NOTHING_CONTAINED = ComponentContainers()


def contained(stated: Mapping[str, object]) -> ComponentContainers:
    """Return what a component has announced of its containers; nothing for others."""
    parents = tuple(int(text) for text in _texts(stated.get(PARENTS)) if text.isdecimal() and int(text))
    meters = stated.get(METERS)
    read = tuple(ContainerMeter(**one) for one in meters) if isinstance(meters, list) else ()
    return ComponentContainers(_texts(stated.get(ALSO)), _texts(stated.get(COUNTERS)), parents, read)


def write_stated(folder: Path, stated: Mapping[str, object]) -> None:
    """Replace what a component says of its containers, so that no one reads a half of it."""
    new = folder / f"{STATED}.new"
    new.write_text(json.dumps(stated), encoding="utf-8")
    new.replace(folder / STATED)


def restated(folder: Path) -> dict[str, object]:
    """Return what a component says of its containers since its settings changed; nothing before."""
    with suppress(OSError):
        return dict(json.loads((folder / STATED).read_text(encoding="utf-8")))
    return {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def notes(text: str) -> Iterator[str]:
    """Yield the warnings that a component has announced in a part of its log."""
    for line in text.splitlines():
        if line.startswith("{"):
            with suppress(ValueError, RecursionError):
                stated = json.loads(line)
                if isinstance(stated, dict) and isinstance(stated.get(NOTE), str):
                    yield stated[NOTE]


def counters_of(pids: Sequence[int], ports: Collection[str]) -> list[str]:
    """Return the counters of the control groups of containers, by the first process of each, and of ports' proxies.

    A group of an older kernel counts in a file of its own, one of version 2 with all else. A process is its number.
    """
    groups = (_counted_in(pid, "cpuacct") for pid in pids if pid)
    return [*filter(None, groups), *(str(pid) for pid in _port_proxies(ports))]


def meter_of(service: str, pid: int) -> ContainerMeter:
    """Return the meter of a container of a service, by its first process."""
    return ContainerMeter(service, _counted_in(pid, "cpuacct"), _counted_in(pid, "cpu"), _counted_in(pid, "memory"))


def _counted_in(pid: int, controller: str) -> str:
    """Return the file in which a controller counts for a process's group; nothing where that can't be known."""
    old, new = _GROUP_FILES[controller]
    with suppress(OSError):
        for line in (PROC / str(pid) / "cgroup").read_text("utf-8", "surrogateescape").splitlines():
            _, controllers, path = line.split(":", 2)
            if path != "/" and (controller in controllers.split(",") or not controllers):
                root, file = _mounted(controller if controllers else ""), old if controllers else new
                if root and (root / path.lstrip("/") / file).is_file():
                    return str(root / path.lstrip("/") / file)
    return ""


def _mounted(controller: str) -> Path | None:
    """Where the groups of a controller are, or those of version 2 without a controller's name."""
    for line in MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
        fields, _, kind = line.partition(" - ")
        name, _, options = kind.partition(" ")
        counts = name == "cgroup" and controller in options.rpartition(" ")[2].split(",")
        if counts if controller else name == "cgroup2":
            return Path(fields.split()[4])
    return None


def _port_proxies(ports: Collection[str]) -> Iterator[int]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == PORT_PROXY and not {*process.cmdline()}.isdisjoint(ports):
                yield process.pid


def counted(counter: str) -> float:
    """Return the CPU seconds of a counter; none once its container or its process is gone."""
    with suppress(OSError, ValueError, psutil.Error):
        if counter.isdecimal():
            return float(sum(psutil.Process(int(counter)).cpu_times()[:2]))
        text = Path(counter).read_text("utf-8", "surrogateescape")
        if counter.endswith(_USAGE_NS):
            return int(text) * _NS
        return int(dict(line.split() for line in text.splitlines()).get("usage_usec", 0)) * _US
    return 0.0


def _numbers(file: str) -> dict[str, int]:
    """Return the numbers of a file by their names, a line each."""
    return {
        name: int(number)
        for name, number in (line.split() for line in Path(file).read_text("utf-8", "surrogateescape").splitlines())
    }


def _throttled_s(file: str) -> float:
    """Return how long the processes of a group had to wait because its CPU time was used up."""
    numbers = _numbers(file)
    return numbers.get("throttled_usec", 0) * _US + numbers.get("throttled_time", 0) * _NS


def _memory_mib(file: str) -> float:
    """Return the memory of a group in MiB, without the copies of files that the kernel would drop first."""
    numbers = _numbers(str(Path(file).with_name("memory.stat")))
    inactive = numbers.get("total_inactive_file", numbers.get("inactive_file", 0))
    return max(int(Path(file).read_text("utf-8", "surrogateescape")) - inactive, 0) / _MIB
