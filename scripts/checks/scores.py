"""`scripts/mutation-scores [python|java|rust]`: which of a tool's defects, put into small modules, the tests notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from scripts.checks.skips import ROOT

MUTMUT = "mutmut==3.8.1"
KILLED, SURVIVED, UNTESTED, UNKNOWN = "killed", "survived", "untested", "unknown"
OF_MUTMUT = {0: SURVIVED, 5: UNTESTED, 33: UNTESTED, None: UNKNOWN, 2: UNKNOWN, 34: UNKNOWN, 35: UNKNOWN}
"""What mutmut's exit codes mean; every other one (a mutant that ran out of time, or crashed) is noticed."""
OF_PIT = {"SURVIVED": SURVIVED, "NO_COVERAGE": UNTESTED, "RUN_ERROR": UNKNOWN, "NON_VIABLE": UNKNOWN}
"""What PIT calls them; a mutant that never ends, or takes all memory, is noticed."""
CARGO_MUTANTS = "27.1.0"
PURE_CRATES = ("policies", "schedule")
"""The engine's crates of pure decisions, whose files are mutated."""
OF_CARGO = {"MissedMutant": SURVIVED, "CaughtMutant": KILLED, "Timeout": KILLED}
"""What cargo-mutants calls them; one that doesn't compile doesn't count, and one that never ends is noticed."""
ENDS_OF_CARGO = (0, 2, 3)
"""With which codes cargo-mutants ends that has done its work: all noticed, some missed, some without end."""


@dataclass(frozen=True)
class Fate:
    """What became of one mutant: the file or class that it was in, its name, and whether a test noticed it."""

    part: str
    name: str
    fate: str


def of_mutmut(folder: Path) -> list[Fate]:
    """Read what mutmut left next to its mutants."""
    found = []
    for file in sorted(folder.rglob("*.meta")):
        part = file.relative_to(folder).as_posix().removesuffix(".meta")
        codes = json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
        found += [Fate(part, name.rsplit(".", 1)[-1], OF_MUTMUT.get(code, KILLED)) for name, code in codes.items()]
    return found


def of_pit(report: Path) -> list[Fate]:
    """Read PIT's ``mutations.xml``."""
    reported = ElementTree.parse(report).getroot()
    return [Fate(_text(of, "sourceFile"), _where(of), OF_PIT.get(of.get("status", ""), KILLED)) for of in reported]


def _where(mutation: ElementTree.Element) -> str:
    return f"{_text(mutation, 'mutatedMethod')}, line {_text(mutation, 'lineNumber')}: {_text(mutation, 'description')}"


def _text(mutation: ElementTree.Element, tag: str) -> str:
    return mutation.findtext(tag) or "?"


HEAD = ["| part | mutants | noticed | survived | untested | score |", "|---|---|---|---|---|---|"]


def table(fates: Iterable[Fate]) -> str:
    """Return the scores as a table in Markdown; the score is the share of all mutants that a test noticed."""
    counts: dict[str, Counter[str]] = {}
    for each in fates:
        counts.setdefault(each.part, Counter())[each.fate] += 1
    rows = [_row(part, count) for part, count in counts.items()]
    total = _row("**all**", sum(counts.values(), Counter()))
    return "\n".join([*HEAD, *rows, total])


def _row(part: str, count: Counter[str]) -> str:
    tried = count.total() - count[UNKNOWN]
    unknown = f" ({count[UNKNOWN]} without a verdict)" if count[UNKNOWN] else ""
    score = f"{count[KILLED] / tried:.0%}" if tried else "–"
    return f"| {part} | {tried}{unknown} | {count[KILLED]} | {count[SURVIVED]} | {count[UNTESTED]} | {score} |"


def python() -> list[Fate]:
    """Let mutmut mutate what ``[tool.mutmut]`` of pyproject.toml lists, in a copy of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        copy, tool = _copy(Path(folder)), Path(folder) / "mutmut"
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tool), MUTMUT], ROOT)
        _run([sys.executable, "-m", "mutmut", "run", "--max-children", "2"], copy, {"PYTHONPATH": str(tool)})
        return of_mutmut(copy / "mutants" / "src")


def _copy(folder: Path) -> Path:
    """Copy what git knows of the checkout, so that no defect stays behind."""
    copy = folder / "checkout"
    copy.mkdir()
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    _run(["cp", "--parents", "-t", str(copy), *(name for name in files.decode().split("\0") if name)], ROOT)
    return copy


def java() -> list[Fate]:
    """Let PIT mutate the adapter classes that the client's pom.xml lists."""
    clients, goals = ROOT / "clients", ["test-compile", "org.pitest:pitest-maven:mutationCoverage"]
    _run(["mvn", "-q", "-B", "-pl", "resilience4j", "-am", *goals], clients)
    return of_pit(clients / "resilience4j" / "target" / "pit-reports" / "mutations.xml")


def of_cargo(outcomes: Path) -> list[Fate]:
    """Read the ``outcomes.json`` of cargo-mutants, whose first outcome is that of the tests without a mutant."""
    reported = json.loads(outcomes.read_text(encoding="utf-8"))["outcomes"]
    mutants = [(each["scenario"]["Mutant"], each["summary"]) for each in reported if isinstance(each["scenario"], dict)]
    return [Fate(one["file"], one["name"], OF_CARGO[fate]) for one, fate in mutants if fate in OF_CARGO]


def rust() -> list[Fate]:
    """Let cargo-mutants mutate the engine's crates of pure decisions, in a copy, each with its own tests."""
    with tempfile.TemporaryDirectory() as folder:
        install = ["cargo", "install", f"cargo-mutants@{CARGO_MUTANTS}", "--locked", "--jobs", "2", "--root", folder]
        _run(install, ROOT)
        files = [word for crate in PURE_CRATES for word in ("--file", f"crates/{crate}/src/**")]
        # In place, since cargo-mutants would copy engine/ alone and the tests read contracts/ next to it.
        words = [f"{folder}/bin/cargo-mutants", "mutants", "--in-place", "--output", folder, "--timeout", "60", *files]
        _run(words, _copy(Path(folder)) / "engine", good=ENDS_OF_CARGO)
        return of_cargo(Path(folder) / "mutants.out" / "outcomes.json")


def _run(words: list[str], folder: Path, more: dict[str, str] | None = None, good: tuple[int, ...] = (0,)) -> None:
    """Run a tool at low priority; what it says goes to standard error."""
    done = subprocess.run(["nice", *words], cwd=folder, env=os.environ | (more or {}), stdout=sys.stderr, check=False)
    if done.returncode not in good:
        raise SystemExit(f"{' '.join(words[:4])} ended with {done.returncode}; what it said is above")


TOOLS: dict[str, Callable[[], list[Fate]]] = {"python": python, "java": java, "rust": rust}


def main(words: list[str]) -> int:
    """Print every mutant that no test noticed, and the table."""
    unknown = [word for word in words if word not in TOOLS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; type {', '.join(TOOLS)}, or nothing for all", file=sys.stderr)
        return 2
    fates = [fate for name in words or TOOLS for fate in TOOLS[name]()]
    for each in fates:
        if each.fate != KILLED:
            print(f"{each.fate:10}{each.part}: {each.name}")
    print(table(fates))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
