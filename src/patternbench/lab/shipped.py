"""The files shipped with patternbench: systems, studies, clients, filters and contracts.

A wheel carries them inside the package under a leading underscore; a checkout has them next to ``src/``.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
CHECKOUT = PACKAGE.parent.parent


def folder(name: str) -> Path:
    """Return the shipped folder of that name: the wheel's if it is there, else the checkout's."""
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else CHECKOUT / name


def from_wheel() -> bool:
    """Whether this is an installed wheel, in which nothing can be built with make."""
    return not (CHECKOUT / "Makefile").is_file()


def how_to_build(target: str) -> str:
    """Return what to type if something that make builds is missing; a wheel without it must be replaced."""
    if from_wheel():
        return f"install patternbench again: its wheel must be built after `make {target}`"
    return f"type `make {target}`"
