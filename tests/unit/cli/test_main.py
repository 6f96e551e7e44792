"""How the command ends when a system does not come up."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.cli import main as command
from patternbench.drivers.driver import DriverError
from patternbench.lab.host.accounts import scratch
from patternbench.lab.host.processes import StartError


@pytest.mark.parametrize("kind", [StartError, DriverError])
def test_a_system_that_does_not_start_is_a_sentence_and_no_traceback_whatever_the_verb(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(**_: object) -> None:
        raise kind("shop did not come up: no such table")

    monkeypatch.setattr(command.cli, "main", fails)
    with pytest.raises(SystemExit) as ended:
        command.main([])
    assert ended.value.code == command.USAGE
    assert "shop did not come up: no such table" in capsys.readouterr().err


def test_a_server_that_runs_as_another_user_reaches_the_folder_of_a_trial() -> None:
    with scratch("patternbench-test-") as folder:
        assert folder.stat().st_mode & 0o777 == 0o711
        kept = Path(folder)
    assert not kept.exists()
