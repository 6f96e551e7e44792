"""Values as YAML in one line, as studies that we write hold them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Texts that YAML may read as something else."""


def flow(value: object) -> str:
    """Return a value as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(name))}: {flow(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _plain(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Return a text without quotes where YAML reads it as that text."""
    return text if _PLAIN.fullmatch(text) and not _is_other(text) else json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    """Return a name; ``on`` is one of a study's, which our reader of YAML 1.2 takes as it is."""
    return name if _PLAIN.fullmatch(name) and (not _is_other(name) or name == "on") else json.dumps(name)


def _is_other(text: str) -> bool:
    """Whether YAML may read a text as a number or a word of its own."""
    return (
        text.lower() in WORDS
        or re.fullmatch(r"[0-9][0-9_]*(\.[0-9_]*)?(e[0-9]+)?|0x[0-9a-f]+|0o?[0-7]+", text, re.IGNORECASE) is not None
    )
