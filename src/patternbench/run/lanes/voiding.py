"""Blocks stay whole: one that cannot continue where it began does not count, and is run again as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from patternbench.plan.order import Round
from patternbench.records import journal, seals
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Journal, standing, voids


def owners(folder: RunFolder) -> Mapping[int, str]:
    """Return the lane on which each block was begun, of those whose rounds stand."""
    return {entry.block: entry.lane for entry in standing(journal.read(folder.journal))}


def void_divided(folder: RunFolder, lanes: Collection[str], todo: Iterable[Round]) -> None:
    """Void each block of which rounds are still to be run, and which was begun on a lane that is not there."""
    begun = owners(folder)
    written = Journal(folder.journal, seals.of_run(folder))
    for block in sorted({round_.block for round_ in todo if not round_.counting}):
        if begun.get(block, next(iter(lanes), "")) not in lanes:
            lane = begun[block]
            where = f"lane {lane}" if lane else "a machine without lanes"
            written.append(voids(block, lane, f"it was begun on {where}, which is not there to end it"))
