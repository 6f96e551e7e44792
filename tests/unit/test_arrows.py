"""The invariants that the shape of the code itself must keep."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.observe import registry

PACKAGE = ROOT / "src/patternbench"
OBSERVERS = [name.removeprefix("patternbench.") for name in registry.folders()]
PURE = [
    "terms",
    "study",
    "plan",
    "analyze",
    "configurations",
    *(f"{name}/{room}" for name in OBSERVERS for room in ("plan", "analyze")),
]
ROOMS = sorted({path.parent.name for path in PACKAGE.glob("*/__init__.py")} - set(OBSERVERS))
STARTERS = {"subprocess", "multiprocessing", "pty"}
STARTS = re.compile(r"os\.(system|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*)|asyncio\.create_subprocess_\w+")
CLOCKS = {"time", "datetime", "pd.Timestamp.now", "pd.Timestamp.today", "pd.Timestamp.utcnow"}
DRAWS = re.compile(
    r"(random|np\.random|numpy\.random)\.(?!Random$|default_rng$|Generator$)\w+|(secrets|uuid)\.\w+|os\.urandom"
)
"""Calls that draw from a source that the caller has not seeded."""
FILES = {"pathlib", "shutil", "tempfile", "socket", "httpx", "sqlite3", "patternbench.study.text.files"}
READS = re.compile(
    r"open|print|input|pd\.read_\w+|os\.(open|listdir|scandir|walk|getenv|stat)"
    r"|.*\.(read_text|read_bytes|write_text|write_bytes|iterdir|is_file|exists|to_parquet|to_pickle)"
)
OF_FILES = {PACKAGE / "study" / "text" / "files.py", PACKAGE / "study" / "load.py"}
"""How a study's file is read: the only files of the pure rooms that touch a file."""


def modules(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]


def called(path: Path) -> set[str]:
    return {ast.unparse(call.func) for call in calls(path)}


def written_calls(path: Path) -> set[str]:
    return {ast.unparse(call) for call in calls(path)}


def test_arrows_of_import_run_one_way() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def matching(pattern: re.Pattern[str], names: Iterable[str]) -> list[str]:
    return [name for name in names if pattern.fullmatch(name)]


@pytest.mark.parametrize("path", [path for path in modules("") if PACKAGE / "lab" not in path.parents], ids=str)
def test_only_the_lab_starts_processes(path: Path) -> None:
    assert not STARTERS & set(imported(path))
    assert not matching(STARTS, [*imported(path), *called(path)])


@pytest.mark.parametrize("path", modules(*PURE), ids=str)
def test_the_pure_rooms_read_no_clock(path: Path) -> None:
    assert not CLOCKS & {*imported(path), *called(path)}


@pytest.mark.parametrize("path", modules(*PURE), ids=str)
def test_the_pure_rooms_draw_from_a_seeded_source_alone(path: Path) -> None:
    assert not matching(DRAWS, [*imported(path), *called(path)])
    assert not {"random.Random()", "np.random.default_rng()"} & written_calls(path)


@pytest.mark.parametrize("path", [path for path in modules(*PURE) if path not in OF_FILES], ids=str)
def test_the_pure_rooms_do_no_input_or_output_but_where_a_study_is_read(path: Path) -> None:
    assert not FILES & set(imported(path))
    assert not matching(READS, called(path))


def test_the_rooms_know_no_observer_by_name() -> None:
    """A command may: it is one file of its own. Everyone else asks the registry."""
    assert "ratelimit" in OBSERVERS
    named = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in modules(*(room for room in ROOMS if room != "cli"))
        for name in imported(path)
        if name.startswith(tuple(f"patternbench.{observer}" for observer in OBSERVERS))
    }
    assert not named


@pytest.mark.parametrize("wing", [name for name in OBSERVERS if (PACKAGE / name / "question.py").exists()])
def test_what_a_study_may_ask_of_an_observer_knows_studies_and_their_terms_alone(wing: str) -> None:
    """Every study loads it, so it may not bring in what watches rounds and draws reports."""
    project = {name for name in imported(PACKAGE / wing / "question.py") if name.startswith("patternbench")}
    assert all(name.startswith(("patternbench.study.", "patternbench.terms.")) for name in project), project


def test_the_map_of_the_architecture_knows_every_room_and_wing_and_none_that_is_not_there() -> None:
    mapped = re.findall(r"^\| `src/patternbench/([\w.]+)`", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert sorted(mapped) == sorted(folders | modules)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "engine/crates/policies/src").rglob("*.rs")), ids=lambda path: path.name
)
def test_the_policies_of_the_engine_touch_no_file_socket_or_process(path: Path) -> None:
    assert not re.findall(r"std::(?:fs|net|io|env|process|thread)\b|\bprint(?:ln)?!", path.read_text())


@pytest.mark.parametrize("observer", OBSERVERS)
def test_an_observer_knows_no_verb_and_no_other_observer(observer: str) -> None:
    others = tuple(f"patternbench.{name}" for name in ("cli", *OBSERVERS) if name != observer)
    assert not [name for path in modules(observer) for name in imported(path) if name.startswith(others)]
