"""The composite actions of the repository are linted as workflows that have their steps and use them."""

from __future__ import annotations

import json
from typing import Any

from ruamel.yaml import YAML
from scripts.checks import actions, lint
from tests.support.studies import ROOT

GATE: dict[str, Any] = YAML(typ="safe").load((ROOT / ".github/actions/gate/action.yml").read_text())


def test_the_workflow_of_an_action_has_its_steps_and_uses_it_with_all_of_its_inputs() -> None:
    made = json.loads(actions.workflow(GATE, "./.github/actions/gate"))
    assert made["jobs"]["steps"]["steps"] == GATE["runs"]["steps"]
    assert made["jobs"]["steps"]["outputs"] == {"outcome": "${{ steps.gate.outputs.outcome }}"}
    using = made["jobs"]["use"]["steps"][-1]
    assert using["uses"] == "./.github/actions/gate"
    assert using["with"].keys() == GATE["inputs"].keys() == made["on"]["workflow_call"]["inputs"].keys()


def test_make_lint_holds_every_action_against_actionlint() -> None:
    assert [path.parent.name for path in ROOT.glob(actions.ACTIONS)] == ["gate"]
    assert any(step.command == "python -m scripts.checks.actions" for step in lint.SLOW)
