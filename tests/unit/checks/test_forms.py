"""Forms for issues and pull requests can be filled in, and name commands and files that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support.studies import ROOT

from patternbench.cli.main import COMMANDS

FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PULL_REQUEST = ROOT / ".github/PULL_REQUEST_TEMPLATE.md"
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def read(path: Path) -> Mapping[str, object]:
    form: Mapping[str, object] = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return form


def test_there_are_forms() -> None:
    assert [path.stem for path in FORMS] == ["bug", "idea"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_a_code_host_asks_of_it(path: Path) -> None:
    form = read(path)
    assert form["name"]
    assert form["description"]
    assert isinstance(form["body"], list)
    assert {part["type"] for part in form["body"]} <= KINDS
    assert all(part["attributes"]["label"].endswith("?") for part in form["body"])


@pytest.mark.parametrize("path", [*FORMS, PULL_REQUEST], ids=lambda path: path.stem)
def test_a_form_names_commands_that_there_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"`patternbench ([a-z-]+)", text)) <= set(COMMANDS)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets
