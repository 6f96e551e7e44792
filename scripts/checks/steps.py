"""Checks that are one command each."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.checks.command import run


@dataclass(frozen=True)
class Step:
    """One command in a folder, which passes or fails as a whole."""

    name: str
    folder: str
    command: str

    def passes(self) -> bool:
        """Run it; return whether it ended with 0."""
        print(f"\n== {self.name}", flush=True)
        return run(self.command.split(), self.folder)[0] == 0


@dataclass(frozen=True)
class SaysNothing(Step):
    """A command that ends with 0 whatever it finds, and lists what is wrong."""

    def passes(self) -> bool:
        """Run it; return whether it said nothing."""
        print(f"\n== {self.name}", flush=True)
        return run(self.command.split(), self.folder) == (0, "")
