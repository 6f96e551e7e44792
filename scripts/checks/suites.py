"""The suites of every language: how each is started, read, and, where it meets real processes, tried again."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.checks import cases
from scripts.checks.cases import Case
from scripts.checks.command import run, silent, tell
from scripts.checks.steps import Step

from patternbench.drivers import registry

Read = tuple[list[Case], int]


@dataclass(frozen=True)
class Suite:
    """Tests of one tool. ``only`` holds the names to run, none for all; ``again`` says whether they may be tried twice,
    ``alone`` that they have the machine to themselves, ``tool`` which folders are locked meanwhile.

    A pure suite depends on nothing outside its process, so what fails there once is a defect. What meets real
    processes and sockets can be pushed over by a busy machine.
    """

    name: str
    start: Callable[[list[str]], Read]
    again: bool = False
    tool: str = ""
    alone: bool = False


def pytest(*options: str) -> Callable[[list[str]], Read]:
    """Start pytest with options; the last ones are the folders."""

    def start(only: list[str]) -> Read:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = ["pytest", "-q", f"--junitxml={report}", "-o", "junit_family=xunit1"]
            code, _ = run([*command, *(only or options)], ".")
            return cases.of_pytest(report.read_text(encoding="utf-8")) if report.exists() else [], code

    return start


CARGO_TEST = ("cargo", "test", "--locked", "--jobs", "2")


def cargo(packages: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start ``cargo test`` for some packages."""
    return cargo_tests("engine", [*CARGO_TEST, "--no-fail-fast", *packages])


def cargo_tests(folder: str, command: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start a command of ``cargo test`` in a folder."""

    def start(only: list[str]) -> Read:
        names = ["--", "--exact", *only] if only else []
        code, text = run([*command, *names], folder, show=_no_cargo_chatter)
        return cases.of_cargo(text), code

    return start


def go(folder: str, command: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start a command of ``go test``, which tells in JSON."""

    def start(only: list[str]) -> Read:
        names = ["-run", f"^({'|'.join(only)})$"] if only else []
        code, text = run([*command, *names], folder, show=silent)
        return _shown(cases.of_go(text)), code

    return start


def sidecar(*packages: str) -> Callable[[list[str]], Read]:
    """Start ``go test`` for some packages of the sidecar."""
    return go("filters/crdt-sidecar", ("go", "test", "-json", *packages))


def busted(folder: str) -> Callable[[list[str]], Read]:
    """Start busted in a folder."""

    def start(_: list[str]) -> Read:
        code, text = run(["busted", "-o", "junit"], folder, show=silent)
        found = re.search(r"<testsuites.*</testsuites>", text, re.DOTALL)
        return _shown(cases.of_junit(found[0])) if found else [Case(text, cases.FAILED)], code

    return start


VERIFY = ("mvn", "-q", "-B", "--no-transfer-progress", "verify")


def maven(folder: str, command: Sequence[str] = VERIFY) -> Callable[[list[str]], Read]:
    """Start Maven's ``verify`` in a project, of one module or several."""

    def start(only: list[str]) -> Read:
        for old in cases.surefire_reports(Path(folder)):
            old.unlink()
        chosen = [f"-Dtest={','.join(dict.fromkeys(only))}", "-Dsurefire.failIfNoSpecifiedTests=false"] if only else []
        code, _ = run([*command, *chosen], folder)
        return cases.of_surefire(Path(folder)), code

    return start


def unittest(folder: str, command: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start the tests of a client in Python, in its own environment."""

    def start(_: list[str]) -> Read:
        code, text = run([*command], folder)
        return cases.of_unittest(text), code

    return start


def node(folder: str, command: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start the tests of a client on Node, which tell in JUnit's form."""

    def start(_: list[str]) -> Read:
        code, text = run([*command], folder, show=silent)
        return _shown(cases.of_junit(text)) if text.startswith("<?xml") else [Case(text, cases.FAILED)], code

    return start


def dotnet(folder: str, command: Sequence[str]) -> Callable[[list[str]], Read]:
    """Start the tests of a client in C#."""

    def start(_: list[str]) -> Read:
        code, text = run([*command], folder)
        return cases.of_dotnet(text), code

    return start


OF_LANGUAGE = {
    "Java": maven,
    "Python": unittest,
    "JavaScript": node,
    "Go": go,
    "C#": dotnet,
    "Rust": cargo_tests,
}
"""How the tests of a client are started and read, by the language that its ``client.yaml`` says."""


def of_clients() -> Iterator[Suite]:
    """Yield the tests of our clients, as each ``client.yaml`` says; a command that several have in common runs once."""
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in registry.names():
        file = registry.described(name)
        command = tuple(registry.filled(word, registry.marks_of(name)) for word in file.test)
        if command:
            names.setdefault((file.language, command), []).append(name)
    for (language, command), clients in names.items():
        how = registry.described(clients[0]).how
        tool = command[0] if command[0] in ("cargo", "mvn") else ""
        yield Suite(f"clients {', '.join(clients)}", of_client(language, command, how), again=True, tool=tool)


def of_client(language: str, command: Sequence[str], how: str) -> Callable[[list[str]], Read]:
    """Start a client's tests; where their tool is missing, a skipped test says ``how`` to get it."""
    tests = OF_LANGUAGE[language]("clients", command)

    def start(only: list[str]) -> Read:
        if shutil.which(command[0]) is None:
            return [Case(not_installed(command[0]), cases.SKIPPED, how)], 0
        return tests(only)

    return start


def not_installed(tool: str) -> str:
    """Return the name of the one case that stands for a client's tests where their tool is missing."""
    return f"{tool} is not installed"


def _no_cargo_chatter(line: str) -> str:
    return "" if re.match(r"test .* \.\.\. (ok|ignored)|running \d+ test|\s*$", line) else line


def _shown(found: list[Case]) -> list[Case]:
    for case in found:
        if case.outcome == cases.FAILED:
            tell(f"{case.name}\n{case.why}\n\n")
    return found


PURE_CRATES = ("policies", "schedule", "timing")
PURE = [word for name in PURE_CRATES for word in ("-p", f"patternbench-{name}")]
REAL = ["--workspace", *(word for name in PURE_CRATES for word in ("--exclude", f"patternbench-{name}"))]
BUILDS = (Step("cargo test, build", "engine", " ".join([*CARGO_TEST, "--no-run", "--quiet", *REAL])),)
"""What a suite that has the machine to itself would build: it is built before, while others are at work."""

BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""Two files at a time: what the tests of a file share is made once. tests/conftest.py begins with the longest."""
PURE_GO = ("clock", "limit", "table", "wire", "verbs")
UNIT = Suite("pytest, unit", pytest(*BY_FILE, "tests/unit", "--quick", "-m", "not slow and not browser"))
ALL = (
    Suite("cargo test, pure", cargo(PURE), tool="cargo"),
    Suite("maven, insurance", maven("apps/insurance"), again=True, tool="mvn"),
    Suite("maven, cinema", maven("apps/cinema"), again=True, tool="mvn"),
    Suite("maven, shop", maven("apps/shop"), again=True, tool="mvn"),
    Suite("maven, overload", maven("apps/overload"), again=True, tool="mvn"),
    Suite("maven, calls", maven("agents/jvm-calls"), tool="mvn"),
    Suite("busted, filter", busted("filters/nginx-ratelimit")),
    Suite("busted, bundling filter", busted("filters/nginx-bundle")),
    Suite("busted, simulator", busted("filters/simulator")),
    Suite("go test, pure", sidecar(*(f"./internal/{name}" for name in PURE_GO))),
    Suite("go test, real parts", sidecar(".", "./internal/gossip", "./internal/resp"), again=True),
    *of_clients(),
    Suite("pytest, unit", pytest(*BY_FILE, "tests/unit")),
    Suite("cargo test, real parts", cargo(REAL), again=True, alone=True),
    # Real parts mostly wait, so two files run at a time.
    Suite("pytest, real parts", pytest(*BY_FILE, "tests/browser", "tests/integration"), again=True, alone=True),
)
