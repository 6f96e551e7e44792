"""Which tests may be skipped: those that tests/allowed-skips.toml lists, each with its reason."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from scripts.checks.cases import SKIPPED, Case

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "allowed-skips.toml"
CAP_SYS_ADMIN = 1 << 21
"""What the kernel asks of a process that mounts or makes namespaces: root has it, though in few containers."""


@dataclass(frozen=True)
class Allowed:
    """One entry of the list: tests of a suite whose name holds a text; ``as_user`` says that an administrator must run
    them."""

    suite: str
    test: str
    reason: str
    as_user: bool = False

    def covers(self, suite: str, case: Case, is_admin: bool) -> bool:
        """Whether this entry allows the skip."""
        return suite == self.suite and self.test in case.name and not (self.as_user and is_admin)


def administers(status: Path = Path("/proc/self/status")) -> bool:
    """Whether this process may mount and make namespaces; ``status`` is the kernel's word on it."""
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    held = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(held, 16) & CAP_SYS_ADMIN)


def allowed(path: Path = LIST) -> list[Allowed]:
    """Read the list."""
    return [Allowed(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["skip"]]


def reason(suite: str, case: Case, entries: list[Allowed], is_admin: bool) -> str | None:
    """Why this skip is allowed; None when it is not on the list."""
    return next((entry.reason for entry in entries if entry.covers(suite, case, is_admin)), None)


def not_allowed(suite: str, cases: list[Case], entries: list[Allowed], is_admin: bool) -> list[Case]:
    """Return the skipped cases that are not on the list."""
    skipped = [case for case in cases if case.outcome == SKIPPED]
    return [case for case in skipped if reason(suite, case, entries, is_admin) is None]
