"""What a command loads before it can answer: libraries that it has no use for would be most of its time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patternbench.later import SLOW

ROOT = Path(__file__).resolve().parents[3]
WATCHED = """\
import sys
import patternbench.command
from patternbench.later import DeferredModule
sys.argv[1:] = {arguments!r}
try:
    patternbench.command.main()
except SystemExit as ended:
    code = ended.code
there = [name for name in {names!r} if name in sys.modules and type(sys.modules[name]) is not DeferredModule]
print("loaded:", code, *there)
"""


def loaded(*arguments: str, names: list[str]) -> str:
    """What a command had loaded at its end, after its exit code."""
    script = WATCHED.format(arguments=list(arguments), names=names)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_help_of_the_program_loads_no_models_of_a_study(option: str) -> None:
    names = ["pydantic", "patternbench.study.models", *SLOW]
    assert loaded(option, names=names) == "loaded: 0"


def test_the_plan_of_the_quickstart_loads_no_tables_no_statistics_and_no_http() -> None:
    assert loaded("plan", "studies/quickstart.yaml", names=list(SLOW)) == "loaded: 0"


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_mistake_in_a_study_is_said_without_loading_them(command: str, tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text((ROOT / "studies/quickstart.yaml").read_text().replace("users:", "usres:"))
    assert loaded(command, str(study), names=list(SLOW)) == "loaded: 2"


@pytest.mark.parametrize("command", ["report", "compare", "recommend", "loadtest"])
def test_what_fits_no_model_loads_no_library_for_models(command: str) -> None:
    assert loaded(command, "--help", names=["statsmodels", "patternbench.analyze.models.fit"]) == "loaded: 0"
