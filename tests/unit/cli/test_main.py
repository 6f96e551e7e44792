"""How the command ends when a system does not come up."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from patternbench.cli import main as command
from patternbench.cli.execution import unwritable
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


def test_python_without_docstrings_is_refused_before_anything_is_measured() -> None:
    """The figures of a report need them, so a run was measured to its end and then had no report."""
    words = [sys.executable, "-OO", "-c", "from patternbench.command import main; main()", "plan", "x.yaml"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == command.USAGE
    assert ended.stderr.startswith("error: Python was told to strip docstrings, which are needed (got 2)")
    assert "unset PYTHONOPTIMIZE" in ended.stderr


def test_a_run_whose_folder_was_moved_is_told_to_go_on_where_it_is_now() -> None:
    gone = unwritable(OSError(errno.ENOENT, "No such file or directory"), Path("/runs/first"))
    assert gone.hint == "if the folder was moved, type `patternbench resume` with where it is now"
    full = unwritable(OSError(errno.ENOSPC, "No space left on device"), Path("/runs/first"))
    assert full.hint == "make room, then type `patternbench resume /runs/first --retry-failed`"


@pytest.mark.parametrize("words", [["check-client", "http://a\x1b"], ["\x1bx\u202e"], ["run", "x", "--\x1b\u202e"]])
def test_what_is_wrong_on_the_command_line_is_written_out_where_it_would_act_on_the_terminal(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    said = capsys.readouterr().err
    assert ended.value.code == command.USAGE
    assert not {"\x1b", "\u202e"} & set(said)
    assert "\\x1b" in said
