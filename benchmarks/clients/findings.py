"""What ``patternbench check-client`` finds of every client, kept next to the page libraries.md.

    python -m benchmarks.clients.findings [CLIENT ...]

This starts every client that is there, or those that are named, and keeps what check-client finds.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter
from ruamel.yaml import YAML

from patternbench.conformance.check import check_client
from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.terms.problems import Problem

FINDINGS = Path(__file__).parents[2] / "docs" / "libraries" / "findings"
SHOWN = TypeAdapter(list[str]).validate_python(YAML(typ="safe").load(Path(__file__).parent / "shown.yaml"))
"""The rules of which the page tells what they saw, and not only that a library keeps them."""


def measure(names: list[str]) -> None:
    """Ask clients that are there; of the rules that a client keeps, only what is shown is kept of what they saw."""
    for name in names:
        spec = registry.find(name, {})
        if isinstance(spec, Problem) or registry.missing(spec):
            print(f"{name}: not there, its findings stay as they are")
            continue
        with TemporaryDirectory() as folder, closing(Client(spec, Path(folder))) as client:
            library = TypeAdapter(dict[str, str]).validate_python(client.description["library"])
            findings = [(one.rule, one.status, one.seen) for one in check_client(client.url)]
            named = {"library": f"{library['name']} {library['version']}", "language": client.description["language"]}
        kept = [
            (rule, status, "" if status == "passed" and rule not in SHOWN else seen) for rule, status, seen in findings
        ]
        (FINDINGS / f"{name}.json").write_text(f"{json.dumps({**named, 'findings': kept}, indent=1)}\n", "utf-8")
        print(name, *[f"\n  {rule}: {seen}" for rule, status, seen in findings if status == "failed"])


if __name__ == "__main__":
    measure(sys.argv[1:] or registry.names())
