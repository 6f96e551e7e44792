"""The file that tells a generator when to begin, with an engine that is made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.made_up_engine import MadeUp, ending, made_up, over

from patternbench.drivers import load
from patternbench.drivers.load import BEGIN, Load


def test_a_begin_file_that_a_killed_run_left_is_gone_before_the_engine_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(monkeypatch)
    found: list[bool] = []

    class Looking(MadeUp):
        def __init__(self, name: str, command: list[str], logs: Path) -> None:
            found.append(Path(command[command.index("--begin") + 1]).exists())
            super().__init__(name, command, logs)

    monkeypatch.setattr(load, "Process", Looking)
    ending(monkeypatch, [{"ready": True}, over()])
    (tmp_path / BEGIN).write_text("5")
    with Load({"part": {"index": 0, "of": 2}}, tmp_path, tmp_path, "generator-1") as generator:
        generator.ready()
        generator.begin(7)
        assert (tmp_path / BEGIN).read_text() == "7"
    assert found == [False]
