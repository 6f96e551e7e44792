"""Memory and CPU time of a component, limited by a control group, where this machine lets us make one.

Control groups are those of version 2 (kernel.org/doc/Documentation/admin-guide/cgroup-v2.rst). A group is made below
the nearest one around us that hands the controllers down and that we may write to: that of systemd's session, or the
root's. Nothing else on the machine is changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patternbench.lab.host.launch import Launch, ResourceLimits

MOUNTS = Path("/proc/self/mountinfo")
OWN = Path("/proc/self/cgroup")
PERIOD_US = 100_000
"""The kernel's own default for the period in which CPU time is counted."""
JOIN = ("sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"')
"""Moves itself into a group, then becomes the command: so that no child of it is ever outside."""
PREFIX = "patternbench"


class LimitRefused(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """Why no limit can act on this machine."""


@dataclass(frozen=True)
class ControlGroup:
    """A group that limits what is started in it."""

    path: Path

    def command(self, *words: str) -> list[str]:
        """Return the command line that carries a command out in the group."""
        return [*JOIN, str(self.path), *words]

    def ran_out_of_memory(self) -> bool:
        """Whether a process was killed because the group had no memory left."""
        with suppress(OSError):
            events = dict(
                line.split()
                for line in (self.path / "memory.events").read_text("utf-8", "surrogateescape").splitlines()
            )
            return int(events.get("oom_kill", 0)) > 0
        return False

    def remove(self) -> None:
        """Remove the group, once nothing is left in it."""
        with suppress(OSError):
            self.path.rmdir()


def made(limits: ResourceLimits, name: str, mounts: Path = MOUNTS, own: Path = OWN) -> ControlGroup:
    """Return a new group with these limits; raises LimitRefused where this machine has none for us."""
    around = _around_us(_expected(limits), mounts, own)
    group = ControlGroup(around / f"{PREFIX}-{os.getpid()}-{name}")
    try:
        _sweep(around)
        group.remove()  # that of an earlier start, whose events would be taken for this one's
        group.path.mkdir(exist_ok=True)
        for file, text in _settings(limits, group.path):
            (group.path / file).write_text(text, "utf-8")
    except OSError as error:
        group.remove()
        raise LimitRefused(f"{group.path} cannot be set up: {error.strerror}") from None
    return group


def refusal(limits: ResourceLimits, mounts: Path = MOUNTS, own: Path = OWN) -> str:
    """Why limits could not act on this machine; nothing where they can."""
    try:
        _around_us(_expected(limits), mounts, own)
    except LimitRefused as error:
        return str(error)
    return ""


class Limiter:
    """Limits what a host starts, and knows what could not be limited. ``make`` makes a group for a component."""

    def __init__(self, make: Callable[[ResourceLimits, str], ControlGroup] = made) -> None:
        self.refused: dict[str, str] = {}
        """Why the limits of a component do not act, by its name."""
        self._make = make
        self._groups: dict[str, ControlGroup] = {}

    def command(self, launch: Launch, words: list[str]) -> list[str]:
        """Return the command line of a command within a component's limits; without them where none can act."""
        if not _expected(launch.limits):
            return words
        try:
            group = self._groups[launch.name] = self._make(launch.limits, launch.name)
        except LimitRefused as error:
            self.refused[launch.name] = str(error)
            return words
        return group.command(*words)

    def cause(self, name: str) -> str:
        """Return an addition to the message on an ended component: that it had no memory left; else nothing."""
        group = self._groups.get(name)
        return "; it ran out of the memory that it may take" if group and group.ran_out_of_memory() else ""

    def leave(self, name: str) -> None:
        """Forget the limits of a component that has ended, so that its next start begins without a history."""
        self.refused.pop(name, None)
        group = self._groups.pop(name, None)
        if group:
            group.remove()

    def close(self) -> None:
        """Remove every group; what was in them has ended."""
        for name in list(self._groups):
            self.leave(name)


def _expected(limits: ResourceLimits) -> set[str]:
    return {name for name, value in (("memory", limits.memory), ("cpu", limits.cores)) if value}


def _settings(limits: ResourceLimits, group: Path) -> Iterator[tuple[str, str]]:
    if limits.memory:
        yield "memory.max", str(limits.memory)
        if (group / "memory.swap.max").exists():  # else what has no room in memory continues in swap
            yield "memory.swap.max", "0"
    if limits.cores:
        yield "cpu.max", f"{round(limits.cores * PERIOD_US)} {PERIOD_US}"


def _around_us(expected: set[str], mounts: Path, own: Path) -> Path:
    """Return the nearest group above our own that hands these controllers down and that we may write to."""
    root = _mounted(mounts)
    ours = root / _own_group(own).lstrip("/")
    around = [path for path in (*ours.parents, root) if path.is_relative_to(root)]  # in a container ours is the root
    for path in around:
        if expected <= _handed_down(path) and all(os.access(file, os.W_OK) for file in (path, path / "cgroup.procs")):
            return path
    raise LimitRefused(f"no control group here hands down {' and '.join(sorted(expected))} and can be written to")


def _mounted(mounts: Path) -> Path:
    """Where control groups of version 2 are; raises LimitRefused where there are none."""
    with suppress(OSError):
        for line in mounts.read_text("utf-8", "surrogateescape").splitlines():
            fields, _, kind = line.partition(" - ")
            if kind.split()[:1] == ["cgroup2"]:
                return Path(fields.split()[4])
    raise LimitRefused("this machine has no control groups of version 2")


def _own_group(own: Path) -> str:
    with suppress(OSError):
        lines = [line.split(":", 2) for line in own.read_text("utf-8", "surrogateescape").splitlines()]
        return next((path for number, _, path in lines if number == "0"), "/")
    return "/"


def _handed_down(group: Path) -> set[str]:
    with suppress(OSError):
        return set((group / "cgroup.subtree_control").read_text("utf-8", "surrogateescape").split())
    return set()


def _sweep(around: Path) -> None:
    """Remove the groups of runs that are over: only those that were killed have left any."""
    for group in around.glob(f"{PREFIX}-*-*"):
        pid = group.name.split("-")[1]
        if not Path(f"/proc/{pid}").exists():
            ControlGroup(group).remove()
