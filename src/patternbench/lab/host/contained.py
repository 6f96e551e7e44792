"""What a component says of programs that run for it in containers: where else it is reached, and what they cost.

Containers aren't processes of ours: their CPU time stands in control groups of their engine, and that of the proxies
which pass on published ports in the counters of these processes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

ALSO, COUNTERS, NOTE = "also", "counters", "note"
"""The keys under which a component announces further places of its first service, counters, and warnings."""
PROC, MOUNTS = Path("/proc"), Path("/proc/self/mountinfo")
PORT_PROXY = "docker-proxy"
_USAGE_NS, _STAT = "cpuacct.usage", "cpu.stat"
_NS, _US = 1e-9, 1e-6


@dataclass(frozen=True)
class Contained:
    """Further places at which a component's first service is reached, and the counters of its containers' CPU time."""

    also: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()

    def cpu_seconds(self) -> float:
        """Return the CPU time that its containers have taken so far."""
        return sum(map(counted, self.counters))


NOTHING_CONTAINED = Contained()


def contained(stated: Mapping[str, object]) -> Contained:
    """Return what a component has announced of its containers; nothing for others."""
    return Contained(_texts(stated.get(ALSO)), _texts(stated.get(COUNTERS)))


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
    groups = (_group(pid) for pid in pids if pid)
    return [*filter(None, groups), *(str(pid) for pid in _port_proxies(ports))]


def _group(pid: int) -> str:
    """Return the file in which the CPU time of a process's group is counted; nothing where that can't be known."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if path != "/" and ("cpuacct" in controllers.split(",") or not controllers):
                root, file = _mounted(controllers), _USAGE_NS if controllers else _STAT
                if root and (root / path.lstrip("/") / file).is_file():
                    return str(root / path.lstrip("/") / file)
    return ""


def _mounted(controllers: str) -> Path | None:
    """Where the groups of a hierarchy are: that which counts CPU time, or version 2 without a controller's name."""
    for line in MOUNTS.read_text().splitlines():
        fields, _, kind = line.partition(" - ")
        name, _, options = kind.partition(" ")
        counts = name == "cgroup" and "cpuacct" in options.rpartition(" ")[2].split(",")
        if counts if controllers else name == "cgroup2":
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
        text = Path(counter).read_text()
        if counter.endswith(_USAGE_NS):
            return int(text) * _NS
        return int(dict(line.split() for line in text.splitlines()).get("usage_usec", 0)) * _US
    return 0.0
