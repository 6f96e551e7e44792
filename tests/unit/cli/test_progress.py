"""The progress of a run, as a terminal of eighty columns shows it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from patternbench.cli.execution import Bar

LEVELS = {"algorithm": "sliding_window_counter", "store": "crdt", "synchronisation": "per_request", "delay": "25ms"}


def test_a_scenario_with_a_long_name_does_not_push_the_progress_off_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    bar = Bar(range(141), 26, quiet=False)
    with bar.shown:
        bar.round_started(
            cast(Any, SimpleNamespace(client="native", strategy=SimpleNamespace(known_as="baseline"), levels=LEVELS))
        )
    last = capsys.readouterr().err.rpartition("native baseline algorithm=sliding_window_counter")
    assert "26/141" in last[2]
