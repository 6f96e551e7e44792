"""Parts of pages between marks, which are made and not written.

A part called ``verdicts`` stands between ``<!-- verdicts -->`` and ``<!-- end of verdicts -->``, each on its own line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def part(page: str, name: str) -> str:
    """Return what stands in a page between the marks of a part."""
    return page.split(_start(name))[1].split(_end(name), maxsplit=1)[0]


def with_part(page: str, name: str, text: str) -> str:
    """Return the page with the text between the marks of a part."""
    before, rest = page.split(_start(name))
    return before + _start(name) + text + _end(name) + rest.split(_end(name))[1]


def _start(name: str) -> str:
    return f"<!-- {name} -->\n"


def _end(name: str) -> str:
    return f"\n<!-- end of {name} -->"


def write(page: Path, parts: Mapping[str, str]) -> None:
    """Put every part into a page's file."""
    text = page.read_text(encoding="utf-8")
    for name, expected in parts.items():
        text = with_part(text, name, expected)
    page.write_text(text, encoding="utf-8")
