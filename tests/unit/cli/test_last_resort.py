"""The end of a command that met what nothing foresaw: words, a record, and no traceback on the screen."""

from __future__ import annotations

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
    said = " ".join(capsys.readouterr().err.split())
    assert (ended.value.code, "Traceback" in said) == (2, False)
    assert "KeyError" in said
    assert "please report it" in said
    record = re.search(r"/\S*patternbench-error-\S*\.txt", said)
    assert record is not None
    assert "Traceback" in Path(record[0]).read_text()
    Path(record[0]).unlink()
