"""What rounds cannot tell, whatever their intervals say: every page's rules of that stand here alone.

A model predicts a configuration no better than the configuration predicts itself. So where the noise floor of a
response is above the bar that prediction errors are held against, errors up to that floor are not judged. Nor is it
judged whether something lowers a share of failures that is zero without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim
from reproductions.claimed import HeldClaim, levelled

#: The greatest prediction error that both papers on the insurance accept (after Menascé and Almeida): percent, points.
BAR = 30.0
CANNOT = "inconclusive: it cannot be told, since"


def below_floor(floor: float, low: float, unit: str = "%") -> str:
    """Return why errors are not judged by the bar; empty where they are. ``low`` is the lower end of their interval."""
    hidden = floor > BAR and not low > floor
    return f"{CANNOT} the noise floor of {floor:.0f} {unit} is above the bar of {BAR:g} {unit}" if hidden else ""


def nothing_fails(starts: Sequence[float]) -> str:
    """Return why it is not judged whether shares of failures get lower; empty where one of them is above zero."""
    return f"{CANNOT} no call fails there" if starts and not any(start > 0 for start in starts) else ""


def predictions(claim: Claim, errors: pd.DataFrame, floor: float, unit: str = "%") -> HeldClaim:
    """Hold a claim that errors lie below the bar; ``errors`` has ``block``, ``model`` and ``error``."""
    both = pd.concat([errors.assign(by="bar", error=BAR), errors.assign(by="prediction")], ignore_index=True)
    (found,) = levelled(both, ("by", "model")).hold([claim])
    low = BAR * (1 + min(change.low for change in found.changes) / 100)
    return replace(found, undecided=below_floor(floor, low, unit))
