"""The invariants that the shape of the code itself must keep."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.observe import registry

PACKAGE = ROOT / "src/patternbench"
OBSERVERS = [name.removeprefix("patternbench.") for name in registry.folders()]
PURE = ["study", "plan", "analyze", *(f"{name}/{room}" for name in OBSERVERS for room in ("plan", "analyze"))]
ROOMS = sorted({path.parent.name for path in PACKAGE.glob("*/__init__.py")} - set(OBSERVERS))
STARTERS = {"subprocess", "os.system", "os.fork", "os.popen", "multiprocessing"}
CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "datetime.datetime.now", "datetime.now"}


def modules(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def called(path: Path) -> set[str]:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {ast.unparse(function) for function in calls}


def test_arrows_of_import_run_one_way() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", modules("study", "observe", "plan", "records", "run", "report", "analyze"), ids=str)
def test_only_lab_drivers_and_cli_start_processes(path: Path) -> None:
    assert not STARTERS & set(imported(path))
    assert not STARTERS & called(path)


@pytest.mark.parametrize("path", modules(*PURE), ids=str)
def test_study_plan_and_analyze_read_no_clock(path: Path) -> None:
    assert "time" not in set(imported(path))
    assert not CLOCKS & called(path)


@pytest.mark.parametrize("path", [path for path in modules(*PURE) if "study" not in path.parts], ids=str)
def test_plan_and_analyze_do_no_input_or_output(path: Path) -> None:
    files = {"open", "print", "pd.read_parquet", "pd.read_csv"}
    assert not files & called(path)
    assert not {"pathlib", "socket", "httpx", "shutil"} & set(imported(path))


def test_the_rooms_know_no_observer_by_name() -> None:
    """A verb may: it is one file of its own. Everyone else asks the registry."""
    assert "ratelimit" in OBSERVERS
    named = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in modules(*(room for room in ROOMS if room != "cli"))
        for name in imported(path)
        if name.startswith(tuple(f"patternbench.{observer}" for observer in OBSERVERS))
    }
    assert not named
