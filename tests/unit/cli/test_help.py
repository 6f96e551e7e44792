"""The help of every verb, as a terminal of eighty columns shows it."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from patternbench.cli.main import VERBS, cli

COLUMNS = 80


def help_of(*verb: str) -> list[str]:
    """The lines of a verb's help in a terminal of eighty columns."""
    return CliRunner().invoke(cli, [*verb, "--help"], terminal_width=COLUMNS - 2).stdout.splitlines()


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_fits_and_its_example_can_be_copied_from_one_line(verb: str) -> None:
    lines = help_of(verb)
    assert [line for line in lines if len(line) > COLUMNS] == []
    (example,) = (number for number, line in enumerate(lines) if line.startswith("  Example: patternbench "))
    assert example == len(lines) - 1


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_breaks_no_line_within_a_word(verb: str) -> None:
    words = {word for line in help_of(verb) for word in re.findall(r"\S+", line)}
    wide = CliRunner().invoke(cli, [verb, "--help"], terminal_width=1000).stdout
    assert words <= set(re.findall(r"\S+", wide))


def test_the_list_of_verbs_has_one_line_for_each() -> None:
    lines = help_of()
    assert [line.split()[0] for line in lines[lines.index("Verbs:") + 1 :]] == list(VERBS)
