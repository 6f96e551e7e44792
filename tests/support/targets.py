"""The calibrated target, up for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patternbench.lab.host.launch import Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.ready import ReadyLine
from patternbench.lab.software import engine


@contextmanager
def target_up(folder: Path, *arguments: str) -> Iterator[str]:
    """The calibrated target with arguments of its command line, at its URL; gone on leaving."""
    command = (engine.path(), "target", "--port", "0", *arguments)
    with LocalHost(folder) as host:
        host.launch([Launch("target", "target", command, ReadyLine("listening"), url="http://${self.said.listening}")])
        yield host.running["target"].url
