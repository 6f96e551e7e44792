"""A request that was recorded or described, and the parts of it that are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args
from urllib.parse import urlsplit

from patternbench.study.model.parts import Method
from patternbench.study.text.nodes import FileLine, canonical
from patternbench.terms.urls import encoded

METHODS = get_args(Method)
KEPT_HEADERS = ("accept", "content-type")
"""Headers that say what is asked; others say who asks, and with what."""
_UNFIT = re.compile(r"[^A-Z0-9]+")


_PRIVATE = re.compile(
    r"token|secret|passw|apikey|authorization|cookie|session|signature|credential|^(key|sig|sid|jwt)$"
)
"""Parts of names, without ``-`` and ``_``, of what may say who asks: more than in a study, whose author chose them."""


def is_private(name: str) -> bool:
    """Whether a header, or a value of a query, may carry a secret."""
    return _PRIVATE.search(canonical(name)) is not None


@dataclass(frozen=True)
class KeptParts:
    """What is taken over though it may be private."""

    bodies: bool = False
    secrets: bool = False


@dataclass(frozen=True)
class RecordedRequest:
    """One request: its path with the query, when it came (microseconds since any moment), and of whom."""

    method: str
    target: str
    place: FileLine
    at_us: int = 0
    session: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    pause_us: int = 0
    name: str = ""


def path_of(target: str) -> str:
    """Return what is asked of a server, without its host: the path with its query."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return encoded(path if path.startswith("/") else f"/{path}")


def origin_of(url: str) -> str:
    """Return scheme and host of a URL; nothing for a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def without_secrets(target: str, keep: KeptParts) -> str:
    """Return a path of which secrets in the query are taken from the environment: ``?token=${env:TOKEN}``."""
    path, sign, query = target.partition("?")
    if keep.secrets or not sign:
        return escaped(target)
    return escaped(path) + sign + "&".join(_hidden(part) for part in query.split("&"))


def _hidden(part: str) -> str:
    name, sign, value = part.partition("=")
    return f"{name}=${{env:{variable(name)}}}" if value and is_private(name) else escaped(name + sign + value)


def variable(name: str) -> str:
    """Return a name for a variable of the environment: ``X-Api-Key`` is ``X_API_KEY``."""
    return _UNFIT.sub("_", name.upper()).strip("_") or "SECRET"


def escaped(text: str) -> str:
    """Return a text in which nothing is filled in by the load engine."""
    return text.replace("${", "$${")


def kept_headers(headers: Mapping[str, str], keep: KeptParts) -> Iterator[tuple[str, str]]:
    """Yield the headers that a study takes over; one with a secret only if it is asked for."""
    for name, value in headers.items():
        if is_private(name):
            yield name, (escaped(value) if keep.secrets else f"${{env:{variable(name)}}}")
        elif name.lower() in KEPT_HEADERS:
            yield name, escaped(value)
