"""What a command loads before it can answer: libraries that it has no use for would be most of its time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from patternbench.cli import load, report, schema, simulate, up
from patternbench.cli.main import COMMANDS, cli
from patternbench.later import SLOW
from patternbench.records.schemas import SCHEMAS
from patternbench.report.sections import claims
from patternbench.simulation import rare_events
from patternbench.study import models
from patternbench.study.model import placement

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = 80
WORK = ("pydantic", "numpy", "rich", "jinja2", "orjson", "psutil", "ruamel.yaml", "patternbench.study.models", *SLOW)
"""What only the work of a command needs."""
FIGURES = ("altair", "formulaic", "jinja2", "jsonschema", "pydoe", "statsmodels", "vl_convert")
"""Libraries for figures and statistics."""
LISTS_TABLES = "export"
"""The command whose help lists the tables of observers, so that it has to ask them all."""
WATCHED = """\
import sys
import patternbench.command
sys.argv[:] = ["patternbench", *{arguments!r}]
try:
    patternbench.command.main()
except SystemExit as ended:
    code = ended.code
there = [name for name in {names!r} if name in sys.modules and type(sys.modules[name]) is type(sys)]
print("loaded:", code, *there)
"""


def printed(*arguments: str, names: Sequence[str]) -> tuple[str, str]:
    """What a command prints in a terminal of a given width, and what it had loaded at its end, after its exit code."""
    script = WATCHED.format(arguments=list(arguments), names=list(names))
    environment = os.environ | {"COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True, env=environment
    )
    text, _, there = done.stdout.rstrip("\n").rpartition("\n")
    return text, there


def loaded(*arguments: str, names: Sequence[str]) -> str:
    """What a command had loaded at its end, after its exit code."""
    return printed(*arguments, names=names)[1]


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_help_of_the_program_loads_no_models_of_a_study(option: str) -> None:
    assert loaded(option, names=WORK) == "loaded: 0"


def test_the_plan_of_the_quickstart_loads_no_tables_no_statistics_and_no_http() -> None:
    assert loaded("plan", "studies/quickstart.yaml", names=(*SLOW, *FIGURES)) == "loaded: 0"


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_mistake_in_a_study_is_said_without_loading_them(command: str, tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text((ROOT / "studies/quickstart.yaml").read_text().replace("users:", "usres:"))
    assert loaded(command, str(study), names=(*SLOW, *FIGURES)) == "loaded: 2"


def test_a_mistake_in_a_study_is_said_before_what_plans_is_loaded(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text((ROOT / "studies/quickstart.yaml").read_text().replace("users:", "usres:"))
    planning = ("patternbench.cli.planned", "patternbench.lab.systems", "patternbench.drivers.driver")
    assert loaded("plan", str(study), names=planning) == "loaded: 2"


def test_the_plan_of_the_quickstart_loads_no_components_that_it_has_not() -> None:
    others = [f"patternbench.lab.components.{kind}" for kind in ("rabbitmq", "mariadb", "jvm_app", "nginx")]
    assert loaded("plan", "studies/quickstart.yaml", names=others) == "loaded: 0"


INNER = """\
import sys
from patternbench.later import loaded_when_used
loaded_when_used()
{first}
import numpy as np
assert np.arange(3).sum() == 3 and sys.modules["numpy"] is np
import pandas as pd, scipy.stats
from numpy.linalg import inv
assert inv is np.linalg.inv and np.linalg is sys.modules["numpy.linalg"]
assert np.linalg.__spec__.loader.get_source("numpy.linalg")
print(pd.Series(np.ones(2)).sum() + scipy.stats.norm.cdf(0))
"""


@pytest.mark.parametrize(
    "first",
    [
        *("import numpy.typing as npt", "from numpy.linalg import inv", "import numpy._core.multiarray"),
        *("import pyarrow.parquet", "import statsmodels.api", "import pydoe", "import altair", "import formulaic"),
    ],
)
def test_libraries_load_whichever_module_is_asked_for_first(first: str) -> None:
    """An inner module of numpy, asked for before numpy itself was loaded, broke both."""
    words = [sys.executable, "-c", INNER.format(first=first)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout.strip(), done.stderr) == ("2.5", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_is_whole_and_loads_nothing_that_only_its_work_needs(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, there = printed(command, "--help", names=() if command == LISTS_TABLES else WORK)
    assert there == "loaded: 0"
    # A test that has asked the command itself for its help has left the option there that it has by itself.
    monkeypatch.setattr(cli.get_command(click.Context(cli), command), "_help_option", None, raising=False)
    options = {"prog_name": "patternbench", "terminal_width": COLUMNS - 2}
    assert text == CliRunner().invoke(cli, [command, "--help"], **options).stdout.rstrip("\n")


def test_what_help_says_without_the_modules_that_have_it_is_as_they_have_it() -> None:
    assert load.MOST_GENERATORS == models.MOST_GENERATORS
    assert report.CLAIMS == claims.ANCHOR
    assert simulate.FEWEST_PATHS == rare_events.REPETITIONS
    assert (placement.PROCESSES, placement.CONTAINERS) == up.PLACES
    assert (schema.STUDY, schema.MODEL, *SCHEMAS) == schema.FILES


@pytest.mark.parametrize("words", [("nothing", "--help"), ("plan", "--helpp")])
def test_what_looks_like_a_request_for_help_and_is_none_ends_as_it_did(words: tuple[str, ...]) -> None:
    assert loaded(*words, names=["pandas"]) == "loaded: 2"


MODULES = """\
import sys
from patternbench.stand_ins import ModuleLater, StandIn, put_names_off
put_names_off()
{imports}
there = lambda name: type(sys.modules.get(name)) is type(sys)
{then}
"""


def ended(imports: str, then: str) -> int:
    """The exit code of a process that imports something by stand-ins, and then asks something of it."""
    return subprocess.run([sys.executable, "-c", MODULES.format(imports=imports, then=then)], check=False).returncode


def test_a_stand_in_is_for_help_what_it_stands_for() -> None:
    imports = "from patternbench.study.models import MOST_GENERATORS as most, Study; import pandas as pd"
    asked = "f'{most}' == '100' and most + 1 == 101 == 1 + most and most > 99 and [*range(most)][-1] == 99"
    assert ended(imports, f"sys.exit(0 if {asked} else 1)") == 0
    assert ended(imports, "sys.exit(there('patternbench.study.models') or there('pandas'))") == 0
    assert ended(imports, "class Mine(Study): pass\nsys.exit(not there('pydantic') or there('pandas'))") == 0
    assert ended(imports, "sys.exit(pd.DataFrame({'a': [1, 2]}).a.sum() != 3 or not there('pandas'))") == 0
    assert ended("from rich import box", "sys.exit('ROUNDED' not in dir(box) and box.ROUNDED is None)") == 0
