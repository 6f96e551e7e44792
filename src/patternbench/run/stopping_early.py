"""When a run stops before its last round: measuring on would only fill a folder with rounds that do not count."""

from __future__ import annotations

from collections.abc import Sequence

from patternbench.plan.order import Round
from patternbench.records.journal import DONE, Entry
from patternbench.run.doubts import TARGET_GONE

FEWEST = 2
"""One round that is not valid may be bad luck, also where it is a whole block."""


def stops(made: Sequence[Entry], coming: Round) -> bool:
    """Whether a run stops before the coming round, from the rounds that it has made, in their order."""
    return bool(made) and (_gone(made[-1]) or _hopeless(made, coming))


def _gone(last: Entry) -> bool:
    return any(doubt.kind == TARGET_GONE for doubt in last.doubts)


def _hopeless(made: Sequence[Entry], coming: Round) -> bool:
    """Whether a whole block has been run, and not one of its rounds is valid that came to an end."""
    finished = [entry for entry in made if entry.status == DONE]
    return coming.block > made[0].block and len(finished) >= FEWEST and not any(entry.valid for entry in finished)
