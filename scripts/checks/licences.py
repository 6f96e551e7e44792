"""Licences of everything that we depend on, and advisories about it.

``make licences`` needs no network once its tools are there. ``make advisories`` asks the databases of each language for
what is known today. Maven checks the licences of what a client's jar carries whenever it builds one.
``make test`` runs neither: the same commit may have no advisory today and one tomorrow.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.checks.skips import ROOT
from scripts.checks.steps import Step

PERMISSIVE = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    }
)
"""What we depend on may have one of these (SPDX). ``engine/deny.toml`` and pyproject.toml name no other, but for what
CONTRIBUTING.md lists: libraries that everyone uses under MPL-2.0."""
NPM_LOCKS = "clients/*/package-lock.json"
PYTHON_LOCKS = (
    "requirements.lock",
    *(f"clients/{name}/requirements.lock" for name in ("purgatory", "stamina", "tenacity")),
)
AUDIT = "pip-audit --strict --require-hashes --disable-pip"
"""Strict: a package of which the database could not be asked fails the audit."""
GO_MODULES = ("clients/failsafe-go", "clients/gobreaker", "filters/crdt-sidecar")
"""The folders of Go that build something from other people's modules."""
GO_LICENCES = (
    "go run github.com/google/go-licenses@v1.6.0 check ./... --ignore patternbench.dev --allowed_licenses="
    + ",".join(sorted(name for name in {*PERMISSIVE, "MPL-2.0"} if " " not in name))
)
"""MPL-2.0 is for the sidecar's memberlist, as CONTRIBUTING.md says."""
GO_AUDIT = "go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./..."
RULES = "--config ../engine/deny.toml"
"""Where cargo-deny finds what the crates of clients may be, too."""

LICENCES = (
    Step("cargo deny, licences and sources", "engine", "cargo deny --locked --offline check licenses bans sources"),
    Step(
        "cargo deny, licences and sources of clients",
        "clients",
        f"cargo deny --locked --offline check {RULES} licenses bans sources",
    ),
    Step("pip-licenses", ".", "pip-licenses"),
    Step("npm licences", ".", "python -m scripts.checks.licences"),
    *(Step(f"go-licenses, {folder}", folder, GO_LICENCES) for folder in GO_MODULES),
)
ADVISORIES = (
    Step("cargo deny, advisories", "engine", "cargo deny --locked check advisories"),
    Step("cargo deny, advisories of clients", "clients", f"cargo deny --locked check {RULES} advisories"),
    *(Step(f"pip-audit, {lock}", ".", f"{AUDIT} -r {lock}") for lock in PYTHON_LOCKS),
    Step("npm audit, cockatiel", "clients/cockatiel", "npm audit --package-lock-only --omit=dev"),
    Step("npm audit, opossum", "clients/opossum", "npm audit --package-lock-only --omit=dev"),
    *(Step(f"govulncheck, {folder}", folder, GO_AUDIT) for folder in GO_MODULES),
)


def npm_problems(root: Path = ROOT) -> Iterator[str]:
    """Yield the packages in lock files of npm whose licence is not permissive, or not stated."""
    for path in sorted(root.glob(NPM_LOCKS)):
        packages: Mapping[str, Mapping[str, object]] = json.loads(path.read_text(encoding="utf-8"))["packages"]
        for name, package in packages.items():
            licence = package.get("license")
            if licence not in PERMISSIVE:
                stated = f"the licence {licence}" if licence else "no licence"
                yield f"{path.relative_to(root)}: {name or 'the client itself'} has {stated}"


def main(root: Path = ROOT) -> int:
    """Print what npm's lock files hold that may not be in them; return 0 when there is nothing."""
    wrong = list(npm_problems(root))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
