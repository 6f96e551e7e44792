"""The help of every command, as a terminal of eighty columns shows it."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from patternbench.cli.main import COMMANDS, cli

COLUMNS = 80


def help_of(*command: str) -> list[str]:
    """The lines of a command's help in a terminal of eighty columns."""
    return CliRunner().invoke(cli, [*command, "--help"], terminal_width=COLUMNS - 2).stdout.splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_and_its_example_can_be_copied_from_one_line(command: str) -> None:
    lines = help_of(command)
    assert [line for line in lines if len(line) > COLUMNS] == []
    (example,) = (number for number, line in enumerate(lines) if line.startswith("  Example: patternbench "))
    assert example == len(lines) - 1


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_breaks_no_line_within_a_word(command: str) -> None:
    words = {word for line in help_of(command) for word in re.findall(r"\S+", line)}
    wide = CliRunner().invoke(cli, [command, "--help"], terminal_width=1000).stdout
    assert words <= set(re.findall(r"\S+", wide))


def test_the_list_of_commands_has_one_line_for_each() -> None:
    lines = help_of()
    assert [line.split()[0] for line in lines[lines.index("Commands:") + 1 :]] == list(COMMANDS)
