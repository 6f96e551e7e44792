"""How near predictions are to what was measured: the words, whose rules are in ``analyze/statements/predicted``."""

from __future__ import annotations

from enum import StrEnum


class Nearness(StrEnum):
    """What a check says of predictions."""

    NEAR = "within 10 %"
    FAR = "within 25 %"
    NOT_USABLE = "not usable"
    INCONCLUSIVE = "inconclusive"
