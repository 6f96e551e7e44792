"""The action for GitHub asks the gate what its inputs say, and says what the gate said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.support.studies import ROOT

from patternbench.cli.gate import gate

ACTION = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text())
STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "gate")
INPUTS = {"BASE": "shop@main", "HEAD": "shop", "FAIL_IF": "p95 > +10%", "STUDY": "", "PREPARE": "", "MINUTES": "15"}


def ended(folder: Path, code: int, **inputs: str) -> tuple[int, list[str], str]:
    """Run the step with a gate of this exit code: the step's own code, the gate's words, and the step's outputs."""
    gate_ = folder / "patternbench"
    gate_.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/words"\nexit {code}\n')
    gate_.chmod(0o755)
    outputs = folder / "outputs"
    outputs.touch()
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(outputs)}
    words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]]
    done = subprocess.run(words, env=path | INPUTS | {"UNDECIDED": "pass"} | inputs, check=False, capture_output=True)
    return done.returncode, (folder / "words").read_text().splitlines(), outputs.read_text()


@pytest.mark.parametrize(
    ("code", "undecided", "own", "outcome"),
    [
        (0, "pass", 0, "outcome=pass\n"),
        (1, "pass", 1, "outcome=fail\n"),
        (2, "pass", 2, ""),
        (3, "pass", 0, "outcome=inconclusive\n"),
        (3, "fail", 3, "outcome=inconclusive\n"),
    ],
)
def test_the_step_ends_as_the_gate_does(tmp_path: Path, code: int, undecided: str, own: int, outcome: str) -> None:
    found = ended(tmp_path, code, UNDECIDED=undecided)
    assert (found[0], found[2]) == (own, outcome)


def test_the_gate_is_asked_what_the_inputs_say_with_options_that_it_has(tmp_path: Path) -> None:
    _, (verb, *words), _ = ended(tmp_path, 0, STUDY="a b.yaml", PREPARE="make all")
    expected = {
        "--base": "shop@main",
        "--head": "shop",
        "--fail-if": "p95 > +10%",
        "--minutes": "15",
        "--junit": "gate.junit.xml",
        "--study": "a b.yaml",
        "--prepare": "make all",
    }
    assert (verb, dict(zip(words[::2], words[1::2], strict=True))) == ("gate", expected)
    assert {*expected} <= {name for option in gate.params for name in option.opts}


def test_every_input_of_the_step_is_declared() -> None:
    asked = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in STEP["env"].values()}
    assert asked | {"install"} == ACTION["inputs"].keys()
