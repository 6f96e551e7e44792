"""Checks that are one command each."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.checks.command import run

LOCKS = ("cargo clippy", "cargo test", "mvn")
"""Commands that lock the folders of their tool, so that a second one would only wait."""


@dataclass(frozen=True)
class Step:
    """One command in a folder, which passes or fails as a whole."""

    name: str
    folder: str
    command: str

    @property
    def tool(self) -> str:
        """The tool whose folders it locks; empty where it locks none."""
        return self.command.split()[0] if self.command.startswith(LOCKS) else ""

    def passes(self) -> bool:
        """Run it; return whether it ended with 0."""
        return run(self.command.split(), self.folder)[0] == 0


@dataclass(frozen=True)
class SilentStep(Step):
    """A command that ends with 0 whatever it finds, and lists what is wrong."""

    def passes(self) -> bool:
        """Run it; return whether it said nothing."""
        return run(self.command.split(), self.folder) == (0, "")
