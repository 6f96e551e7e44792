"""The end of a command that met what nothing foresaw: words, a record, and no traceback on the screen."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import click
import pytest

from patternbench.cli import main as module


def test_an_unforeseen_error_says_what_happened_where_its_record_is_and_how_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise KeyError("user")

    monkeypatch.setattr(module, "cli", broken)
    with pytest.raises(SystemExit) as ended:
        module.main([])
    message = " ".join(capsys.readouterr().err.split())
    assert (ended.value.code, "Traceback" in message) == (2, False)
    assert "KeyError" in message
    assert "please report it" in message
    record = re.search(r"/\S*patternbench-error-\S*\.txt", message)
    assert record is not None
    assert "Traceback" in Path(record[0]).read_text()
    Path(record[0]).unlink()


def test_a_panic_of_a_library_in_rust_is_no_traceback_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    panic = type(module.PANIC, (BaseException,), {})

    @click.command()
    def broken() -> None:
        raise panic("called `Result::unwrap()` on an `Err` value")

    monkeypatch.setattr(module, "cli", broken)
    with pytest.raises(SystemExit) as ended:
        module.main([])
    message = " ".join(capsys.readouterr().err.split())
    assert (ended.value.code, "Traceback" in message, "please report it" in message) == (2, False, True)
    for record in re.findall(r"/\S*patternbench-error-\S*\.txt", message):
        Path(record).unlink()


def test_where_too_few_files_may_be_open_a_command_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (20, 20))
    with pytest.raises(SystemExit) as ended:
        module.main(["plan", "none.yaml"])
    message = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 2
    assert "too few files may be open at once here (got 20); allowed: at least 64; type `ulimit -n 1024`" in message


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp', '/']"),
            "error: no folder for temporary files can be written to; type `export TMPDIR=FOLDER`",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "error: No space left on device; make room where it writes and in the folder for temporary files (TMPDIR)",
        ),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "a.txt"), "error: a.txt: Disk quota exceeded; make room there"),
    ],
)
def test_where_nothing_can_be_written_a_command_says_what_to_type(
    error: OSError, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise error

    monkeypatch.setattr(module, "cli", broken)
    with pytest.raises(SystemExit) as ended:
        module.main([])
    assert ended.value.code == 2
    assert expected in " ".join(capsys.readouterr().err.split())
