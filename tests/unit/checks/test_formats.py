"""Each language has one formatter; one that is not installed is named, and one that fails fails the command."""

from __future__ import annotations

import sys

import pytest
from scripts.checks import formats, lint
from scripts.checks.formats import Formatter
from tests.support.studies import ROOT

HOW = "type `install it`"


def script(code: str) -> str:
    """A command that runs Python code without blanks, which our steps split at."""
    return f"{sys.executable} -c {code}"


def test_lint_holds_the_sources_to_every_formatter_that_is_held() -> None:
    names = {step.name for step in (*lint.QUICK, *lint.SLOW)}
    held = {formatter.name for formatter in formats.FORMATTERS if formatter.held}
    assert {"ruff format", "cargo fmt", "gofmt"} <= held <= names


def test_every_folder_of_a_formatter_is_there() -> None:
    assert all((ROOT / formatter.folder).is_dir() for formatter in formats.FORMATTERS)


def test_a_formatter_that_is_not_installed_is_named_with_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    absent = Formatter("absent", ".", "/nowhere/program --write", "/nowhere/program --check", HOW)
    assert formats.carry_out([absent], check=False) == 0
    assert capsys.readouterr().out == f"absent is left out: it is not installed; {HOW}\n"


@pytest.mark.parametrize(
    ("check", "lists", "code"),
    [("pass", False, 0), ("raise(SystemExit(1))", False, 1), ("print('a.go')", True, 1), ("pass", True, 0)],
)
def test_a_check_fails_by_its_code_or_by_what_it_lists(check: str, lists: bool, code: int) -> None:
    formatter = Formatter("some", ".", script("pass"), script(check), HOW, lists=lists)
    assert formats.carry_out([formatter], check=True) == code


def test_writing_runs_the_other_command(capsys: pytest.CaptureFixture[str]) -> None:
    formatter = Formatter("some", ".", script("print('written')"), script("print('checked')"), HOW)
    assert formats.carry_out([formatter], check=False) == 0
    assert "written" in capsys.readouterr().out


def test_other_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert formats.main(["--fix"]) == 2
    assert "usage: scripts/format [--check]" in capsys.readouterr().err
