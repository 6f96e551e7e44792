"""What test tools report, read into one form: a case with its outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Case:
    """One test: its name, its outcome, and why it failed or was skipped.

    ``again`` is the name by which its tool runs it alone; empty where it can't, as for a file that can't be read.
    ``seconds`` is how long it took, 0 where its tool doesn't say.
    """

    name: str
    outcome: str
    why: str = ""
    again: str = ""
    seconds: float = field(default=0.0, compare=False)


def of_junit(text: str) -> list[Case]:
    """Cases of a JUnit file as busted writes it."""
    return [_junit_case(case, case.get("name", ""), "") for case in ElementTree.fromstring(text).iter("testcase")]


def of_pytest(text: str) -> list[Case]:
    """Cases of pytest's JUnit file of family xunit1, which names each test's file."""
    return [_pytest_case(case) for case in ElementTree.fromstring(text).iter("testcase")]


def surefire_reports(project: Path) -> list[Path]:
    """Return the files that Maven's surefire has left in a project, in each of its modules."""
    return sorted(path for path in project.rglob("TEST-*.xml") if path.parent.match("target/surefire-reports"))


def of_surefire(project: Path) -> list[Case]:
    """Cases of the files that Maven's surefire leaves in a project; a class is what it can run again."""
    cases = []
    for path in surefire_reports(project):
        for case in ElementTree.fromstring(path.read_bytes()).iter("testcase"):
            name = case.get("classname", "").rpartition(".")[2]
            cases.append(_junit_case(case, f"{name}.{case.get('name')}", name))
    return cases


def of_cargo(text: str) -> list[Case]:
    """Cases of ``cargo test``, one per line; raises ValueError when the lines don't add up to its own counts."""
    cases = [
        _cargo_case(*found) for found in re.findall(r"^test (.+?) \.\.\. (ok|FAILED|ignored)(?:, (.*))?$", text, re.M)
    ]
    counts = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M)
    stated = sum(int(number) for line in counts for number in line)
    if stated != len(cases):
        raise ValueError(f"cargo test counted {stated} tests, and {len(cases)} were read")
    return cases


def of_go(text: str) -> list[Case]:
    """Cases of ``go test -json``; a package that fails without a failed test (it does not build) is its own case."""
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    ended = [event for event in events if event["Action"] in ("pass", "fail", "skip")]
    tests = [_go_case(event, events) for event in ended if "Test" in event]
    packages = {event["Package"] for event in ended if "Test" not in event and event["Action"] == "fail"}
    failed = {event["Package"] for event in ended if "Test" in event and event["Action"] == "fail"}
    return tests + [Case(package, FAILED, _go_output(events, package)) for package in sorted(packages - failed)]


def of_unittest(text: str) -> list[Case]:
    """Cases of Python's unittest, one per line; what it says of failures stands in its own output."""
    lines = re.findall(r"^(test\w+) \((\S+)\) \.\.\. (ok|FAIL|ERROR|skipped .*)$", text, re.M)
    return [Case(name, _of_word(word), word.removeprefix("skipped").strip()) for _, name, word in lines]


def of_dotnet(text: str) -> list[Case]:
    """Cases of ``dotnet test`` with its console logger, one per line; what it says of failures follows the line."""
    lines = re.findall(r"^\s*(Passed|Failed|Skipped) (.+?)(?: \[[^\]]*\])?$", text, re.M)
    return [Case(name, word.lower()) for word, name in lines]


def _of_word(word: str) -> str:
    return PASSED if word == "ok" else SKIPPED if word.startswith("skipped") else FAILED


def _junit_case(case: ElementTree.Element, name: str, again: str) -> Case:
    seconds = float(case.get("time", "0").replace(",", ""))
    for tag, outcome in (("failure", FAILED), ("error", FAILED), ("skipped", SKIPPED), ("pending", SKIPPED)):
        found = case.find(tag)
        if found is not None:
            return Case(name, outcome, (found.get("message") or found.text or "").strip(), again, seconds)
    return Case(name, PASSED, again=again, seconds=seconds)


def _pytest_case(case: ElementTree.Element) -> Case:
    file, name = case.get("file"), case.get("name", "")
    if file is None:  # A file that could not be imported.
        return _junit_case(case, name, "")
    classes = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
    node = "::".join([file, *filter(None, classes.split(".")), name])
    return _junit_case(case, node, node)


def _cargo_case(name: str, stated: str, why: str) -> Case:
    outcome = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}[stated]
    return Case(name, outcome, why, name.removesuffix(" - should panic"))


def _go_case(event: dict[str, Any], events: list[dict[str, Any]]) -> Case:
    outcome = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}[event["Action"]]
    why = "" if outcome == PASSED else _go_output(events, event["Package"], event["Test"])
    return Case(f"{event['Package']}.{event['Test']}", outcome, why, event["Test"].partition("/")[0])


def _go_output(events: list[dict[str, Any]], package: str, test: str | None = None) -> str:
    return "".join(_go_lines(events, package, test)).strip()


def _go_lines(events: list[dict[str, Any]], package: str, test: str | None) -> Iterator[str]:
    for event in events:
        # What the compiler says comes under the name of the package's build.
        where = event.get("Package") or event.get("ImportPath", "").partition(" ")[0]
        if event["Action"] in ("output", "build-output") and where == package and test in (None, event.get("Test")):
            yield event["Output"]
