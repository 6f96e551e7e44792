"""Needs of a part on this machine, and how to install them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """One thing that must be installed: whether it is there, and the commands that bring it.

    ``obtainable`` says whether this installation can have it: an installed package carries no applications.
    """

    name: str
    present: str | None
    how: str
    install: tuple[tuple[str, ...], ...] = ()
    obtainable: bool = True

    @property
    def met(self) -> bool:
        """Whether it is there."""
        return self.present is not None
