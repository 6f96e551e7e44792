"""Every option of every command is typed in a test of that command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from tests.support.studies import ROOT

from patternbench.cli.main import cli

TESTS = [path.read_text() for path in sorted((ROOT / "tests/unit").rglob("test_*.py"))]
NAMES = cli.list_commands(click.Context(cli))


def untyped(name: str) -> Iterator[str]:
    """The options of a command that no test types which has the command's name as a word."""
    about = [text for text in TESTS if re.search(rf"[\"' ]{re.escape(name)}[\"' ,]", text)]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for option in command.params:
        words = [word for word in option.opts if word.startswith("--")] if isinstance(option, click.Option) else []
        if words and not any(re.search(rf"{re.escape(words[0])}(?![-\w])", text) for text in about):
            yield words[0]


@pytest.mark.parametrize("name", NAMES)
def test_no_option_is_without_a_test_that_types_it(name: str) -> None:
    assert list(untyped(name)) == []
