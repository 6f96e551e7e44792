"""The lines at the end of a page: what it is made from, and on which machine that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.terms.data_problems import plural


def made_from(path: Path) -> list[str]:
    """Say what a page is made from: of a run's folder also when, on which machine and by which version it was run."""
    lines = [f"Made from {path}."]
    if not (path / "manifest.json").is_file():
        return lines
    noted = stored.manifest(RunFolder(path))
    when = f" from {noted.started} on" if noted.started else ""
    by = f" by patternbench {noted.patternbench}" if noted.patternbench else ""
    how = "simulated" if noted.simulated else "measured"
    return [*lines, f"The run was {how}{when}{by}{_on(noted.machine)}."]


def measured_here(rounds: int, version: str, machine: Mapping[str, object]) -> str:
    """Say with how many rounds something was measured on this machine, by which version."""
    return f"Measured with {plural(rounds, 'round')} by patternbench {version}{_on(machine)}."


def _on(machine: Mapping[str, object]) -> str:
    """Name a machine; nothing where nothing was noted of it."""
    parts = [str(machine[name]) for name in ("cpu", "system") if machine.get(name)]
    if cores := machine.get("cores"):
        parts.insert(1, plural(int(str(cores)), "core"))
    return f", on {', '.join(parts)}" if parts else ""
