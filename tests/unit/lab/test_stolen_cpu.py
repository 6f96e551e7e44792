"""The thief of CPU time, where it says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from patternbench.lab.faults.kinds.cpu import CpuTheft
from patternbench.lab.host.processes import Process, SilentProcessError, StartError


class SilentThief:
    """A process that runs and prints nothing."""

    def lines(self, _: float) -> Iterator[bytes]:
        raise SilentProcessError
        yield b""

    def ask_to_end(self) -> None:
        pass

    def close(self) -> None:
        pass

    def why_not(self) -> str:
        return "steal-cpu-shop did not come up: it wrote nothing"


def test_a_thief_that_says_nothing_is_a_fault_that_could_not_end(tmp_path: Path) -> None:
    theft = CpuTheft("shop", 1, 50, "10ms", tmp_path)
    theft._thief = cast(Process, cast(Any, SilentThief()))
    with pytest.raises(StartError, match="steal-cpu-shop did not come up: it wrote nothing"):
        theft.end()
