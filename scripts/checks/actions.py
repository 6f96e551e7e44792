"""Holds the workflows and the composite actions of this repository against actionlint.

actionlint reads workflows alone. So each action is made into one: a job has the action's own steps, with its inputs and
outputs, and another job uses the action with all of its inputs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from scripts.checks.skips import ROOT

ACTIONLINT = ("go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12")
ACTIONS = ".github/actions/*/action.yml"
Action = Mapping[str, Any]


def workflow(action: Action, place: str) -> str:
    """Return the workflow of an action that lies in a folder, as JSON, which is YAML as well."""
    inputs = {name: _input(one) for name, one in action["inputs"].items()}
    outputs = {name: one["value"] for name, one in action.get("outputs", {}).items()}
    runner = {"runs-on": "ubuntu-24.04"}
    using = {"uses": place, "with": dict.fromkeys(inputs, "x")}
    jobs = {
        "steps": {**runner, "outputs": outputs, "steps": action["runs"]["steps"]},
        "use": {**runner, "steps": [{"uses": "actions/checkout@v4"}, using]},
    }
    return json.dumps({"on": {"workflow_call": {"inputs": inputs}}, "jobs": jobs}, indent=1)


def _input(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input as a workflow declares it, which has to say its type."""
    own = {"required": True} if declared.get("required") else {"default": str(declared.get("default", ""))}
    return {"type": "string", **own}


def passes(words: tuple[str, ...], text: str | None = None) -> bool:
    """Run actionlint on workflows, or on a text; return whether it found nothing."""
    return subprocess.run([*ACTIONLINT, *words], cwd=ROOT, input=text, text=True, check=False).returncode == 0


def main(root: Path = ROOT) -> int:
    """Return 0 when nothing is wrong with any workflow or action."""
    good = passes(())
    for path in sorted(root.glob(ACTIONS)):
        action = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        place = f"./{path.parent.relative_to(root)}"
        good &= passes(("-stdin-filename", f"{path.parent.name}.yml", "-"), workflow(action, place))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
