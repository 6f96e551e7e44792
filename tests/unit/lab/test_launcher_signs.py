"""A running component acts once it shows its sign, is given up when it ends or its time is over, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.lab.host.launcher import Launcher
from patternbench.terms.units import Duration


class Sign:
    """A sign that shows when it was looked for so many times."""

    def __init__(self, shows_at: int) -> None:
        self.shows_at, self.seen = shows_at, list[Any]()

    def met(self, starting: Any) -> bool:
        self.seen.append(starting)
        return len(self.seen) == self.shows_at

    def lacks(self, starting: Any) -> str:
        return "no sign"


def acts(folder: Path, sign: Sign, lives: int = 10**6) -> tuple[bool, list[float]]:
    """Whether a component acts that has 1 s and lives for so many looks; a look takes 0.25 s."""
    now: Iterator[float] = (number * 0.25 for number in range(10**6))
    looks: Iterator[int] = iter(range(10**6))
    paused = list[float]()

    class Living:
        written = staticmethod(lambda: "")
        log = folder / "log"

        @property
        def alive(self) -> bool:
            return next(looks) < lives

    launch: Any = SimpleNamespace(name="x", ports={"http": 1234}, within=Duration.parse("1s"))
    process: Any = Living()
    account: Any = None
    launcher = Launcher(folder, clock=lambda: next(now), pause=paused.append)
    shown: Any = sign
    return launcher.acts(shown, launch, process, account), paused


def test_a_component_acts_once_its_sign_is_there(tmp_path: Path) -> None:
    sign = Sign(3)
    assert acts(tmp_path, sign) == (True, [0.02, 0.02])
    assert sign.seen[0].ports == {"http": 1234}


def test_a_sign_that_never_shows_is_given_up_when_the_time_is_over(tmp_path: Path) -> None:
    found, paused = acts(tmp_path, Sign(100))
    assert (found, len(paused)) == (False, 4)


@pytest.mark.parametrize(("shows_at", "found"), [(2, True), (3, False)])
def test_what_has_ended_is_looked_at_once_more_and_no_longer(tmp_path: Path, shows_at: int, found: bool) -> None:
    assert acts(tmp_path, Sign(shows_at), lives=1)[0] is found
