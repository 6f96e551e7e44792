"""The formatter of each language: ``scripts/format`` runs all that are installed, with ``--check`` it changes nothing.

``make lint`` holds the sources to those that are ``held``. stylua is not: it is built from source, which takes minutes.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scripts.checks.skips import ROOT
from scripts.checks.steps import SilentStep, Step

MAVEN = "mvn -q -B --no-transfer-progress"
APPS = ("apps/insurance", "apps/cinema", "apps/shop", "apps/overload")
PRETTIER = "scripts/formatters/node_modules/.bin/prettier"
SCRIPTS = "clients/**/*.js apps/**/static/*.css"
STYLUA = ".cache/tools/bin/stylua"
GO = "filters/crdt-sidecar clients/kits/go clients/failsafe-go clients/gobreaker"
LUA = "filters/nginx-ratelimit filters/nginx-bundle filters/simulator"


@dataclass(frozen=True)
class Formatter:
    """A formatter: in which folder it runs, how it writes and checks, and how it is installed.

    ``lists`` says that its check ends with 0 and lists the files; ``quick`` that ``make check`` can wait for it.
    """

    name: str
    folder: str
    write: str
    check: str
    how: str
    held: bool = False
    quick: bool = False
    lists: bool = False

    def installed(self) -> bool:
        """Whether its program is there."""
        return shutil.which(self.write.split()[0]) is not None

    def writing(self) -> Step:
        """Return the step that puts the sources into its format."""
        return Step(self.name, self.folder, self.write)

    def checking(self) -> Step:
        """Return the step that says which sources are not in its format."""
        return (SilentStep if self.lists else Step)(self.name, self.folder, self.check)


def _java(folder: str) -> Formatter:
    name = f"google-java-format, {folder}"
    apply, check = f"{MAVEN} spotless:apply", f"{MAVEN} spotless:check"
    return Formatter(name, folder, apply, check, "install a JDK 17 and Maven", held=True)


FORMATTERS = (
    Formatter(
        "ruff format",
        ".",
        "ruff format .",
        "ruff format --check --quiet .",
        "type `make setup`",
        held=True,
        quick=True,
    ),
    Formatter(
        "cargo fmt",
        "engine",
        "cargo fmt --all",
        "cargo fmt --all --check",
        "install Rust with rustup",
        held=True,
        quick=True,
    ),
    Formatter(
        "cargo fmt, clients",
        "clients",
        "cargo fmt --all",
        "cargo fmt --all --check",
        "install Rust with rustup",
        held=True,
        quick=True,
    ),
    Formatter("gofmt", ".", f"gofmt -w {GO}", f"gofmt -l {GO}", "install Go", held=True, lists=True),
    *(_java(folder) for folder in ("clients", "agents/jvm-calls", *APPS)),
    Formatter(
        "prettier",
        ".",
        f"{PRETTIER} --log-level warn --write {SCRIPTS}",
        f"{PRETTIER} --log-level warn --check {SCRIPTS}",
        "type `make formatters`",
        held=True,
    ),
    Formatter(
        "stylua",
        ".",
        f"{STYLUA} {LUA}",
        f"{STYLUA} --check {LUA}",
        "type `cargo install stylua --locked --version 2.3.0 --features luajit --root .cache/tools`",
    ),
)


def held(quick: bool) -> list[Step]:
    """Return the checks to which ``make lint`` holds the sources."""
    return [formatter.checking() for formatter in FORMATTERS if formatter.held and formatter.quick is quick]


def carry_out(formatters: Iterable[Formatter], check: bool) -> int:
    """Run the formatters that are installed, and name the others; 1 when one failed or found something."""
    failed = []
    for formatter in formatters:
        if not formatter.installed():
            print(f"{formatter.name} is left out: it is not installed; {formatter.how}", flush=True)
        elif not _passes(formatter.checking() if check else formatter.writing()):
            failed.append(f"{formatter.name} failed")
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


def _passes(step: Step) -> bool:
    print(f"\n== {step.name}", flush=True)
    return step.passes()


def main(words: Sequence[str]) -> int:
    """Put every language into its format, or check it."""
    if words not in ([], ["--check"]):
        print("usage: scripts/format [--check]", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    return carry_out(FORMATTERS, check=bool(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
