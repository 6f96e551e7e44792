"""A warning as data: a condition of a round under which its numbers may mislead."""

from __future__ import annotations

from dataclasses import dataclass

NOTHING_SEEN = "nothing_seen"
"""The kind of warning by which an observer says that nothing at all came to it, so that it will count nothing."""


@dataclass(frozen=True)
class RoundWarning:
    """Why a round's numbers may mislead, and what to do about it; ``invalidates``: they are not to be used at all."""

    kind: str
    message: str
    remedy: str
    invalidates: bool = False
