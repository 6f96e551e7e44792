"""What ``patternbench check-client`` found of every client, and the tables of libraries.md that are made from that.

    python -m reproductions.libraries.conformance [CLIENT ...]

This starts every client that is there, or those that are named, and keeps what check-client finds.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import TypeAdapter

from patternbench.conformance.check import check_client
from patternbench.conformance.trial import RULES
from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.terms.problems import Problem
from reproductions.markdown import table
from reproductions.pages import DOCS, written

FINDINGS = DOCS / "libraries" / "findings"
YES = "yes"
SHOWN = TypeAdapter(list[str]).validate_python(written("libraries/shown.yaml"))
"""The rules of which the page tells what they saw, and not only that a library keeps them."""


class Measured(NamedTuple):
    """What was found of a client: its library and its runtime with their versions, and a verdict for each rule."""

    client: str
    library: str
    language: str
    verdicts: dict[str, tuple[str, str]]


def measured() -> list[Measured]:
    """Return what the committed findings say, client by client."""
    return [_read(file) for file in sorted(FINDINGS.glob("*.json"))]


def _read(file: Path) -> Measured:
    found = json.loads(file.read_text(encoding="utf-8"))
    verdicts = {rule: (status, seen) for rule, status, seen in found["findings"]}
    return Measured(file.stem, found["library"], found["language"], verdicts)


def tables(clients: list[Measured]) -> str:
    """Return the table of clients and rules, who is not measured yet, and why one refuses."""
    heads = ["rule", *(_linked(one.client) for one in clients)]
    versions = ["", *(f"{one.library}<br>{one.language}" for one in clients)]
    reasons: list[str] = []
    rules = [rule.name for rule in RULES if rule.needs != "baseline"]
    kept = [[rule, *(cell(one, rule, reasons) for one in clients)] for rule in rules]
    numbered = "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, start=1))
    seen = table(heads, ([rule, *(sight(one, rule) for one in clients)] for rule in SHOWN))
    why = ["Why a library refuses:", numbered, "What the rules saw:", seen]
    return "\n\n".join([table(heads, [versions, *kept]), *_unmeasured(clients), *why])


def _linked(client: str) -> str:
    return f"[{client}](../clients/{client}/client.yaml)"


def _unmeasured(clients: list[Measured]) -> list[str]:
    """Return a paragraph that names the clients of which nothing has been found yet; nothing where there is none."""
    names = [name for name in registry.names() if name not in {one.client for one in clients}]
    return [f"Not measured yet: {', '.join(map(_linked, names))}."] if names else []


def cell(client: Measured, rule: str, reasons: list[str]) -> str:
    """Whether the library keeps a rule; else the numbers of why it refuses."""
    status, seen = client.verdicts[rule]
    if status == "passed":
        return YES
    reported = dict.fromkeys(problem.split(": ", 1)[-1] for problem in re.split(r"; (?=strategy)", seen))
    reasons += [reason for reason in reported if reason not in reasons]
    return f"refused ({', '.join(str(reasons.index(reason) + 1) for reason in reported)})"


def sight(client: Measured, rule: str) -> str:
    """Return what a rule saw of a library that keeps it."""
    status, seen = client.verdicts[rule]
    return (seen or YES) if status == "passed" else "refused"


def measure(names: list[str]) -> None:
    """Ask clients that are there."""
    for name in names:
        spec = registry.find(name, {})
        if isinstance(spec, Problem) or registry.missing(spec):
            print(f"{name}: not there, its findings stay as they are")
            continue
        with TemporaryDirectory() as folder:
            client = Client(spec, Path(folder))
            try:
                _keep(name, client)
            finally:
                client.close()


def _keep(name: str, client: Client) -> None:
    library = client.description["library"]
    assert isinstance(library, dict)
    findings = [[finding.rule, finding.status, finding.seen] for finding in check_client(client.url)]
    reported = {
        "library": f"{library['name']} {library['version']}",
        "language": client.description["language"],
        "findings": [
            [rule, status, seen if status != "passed" or rule in SHOWN else ""] for rule, status, seen in findings
        ],
    }
    (FINDINGS / f"{name}.json").write_text(json.dumps(reported, indent=1) + "\n", encoding="utf-8")
    print(name, *[f"\n  {rule}: {seen}" for rule, status, seen in findings if status == "failed"])


if __name__ == "__main__":
    measure(sys.argv[1:] or registry.names())
