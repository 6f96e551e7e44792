"""A HAR file, which a browser saves: the requests of one user, with the pauses between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.study.text.files import read_text
from patternbench.study.text.json_nodes import json_node
from patternbench.study.text.nodes import FileNode
from patternbench.terms.problems import InputError, Problem
from patternbench.traffic.access_logs import iso
from patternbench.traffic.requests import METHODS, KeptParts, RecordedRequest, escaped, kept_headers, origin_of, path_of
from patternbench.traffic.requests import without_secrets as hidden

LARGEST = 4_000_000
SHORTEST_PAUSE_US = 1_000


@dataclass(frozen=True)
class Recording:
    """The requests to the server that got the first one, and how many went to others."""

    requests: tuple[RecordedRequest, ...]
    elsewhere: int


def recognises(root: FileNode) -> bool:
    """Whether a document is a HAR."""
    return root.at("log", "entries") is not None


def read(path: Path, keep: KeptParts) -> Recording:
    """Return the requests of a file. Raises InputError naming the line that isn't understood."""
    return of_root(json_node(read_text(path, LARGEST), str(path)), keep)


def of_root(root: FileNode, keep: KeptParts) -> Recording:
    """Return the requests of a HAR in their order."""
    listed = root.at("log", "entries")
    entries = sorted(listed.entries if listed else (), key=_began)
    if not entries:
        raise InputError(Problem("holds no request", file=root.place.file))
    origin = origin_of(_text(entries[0], "request", "url"))
    mine = [one for one in entries if origin_of(_text(one, "request", "url")) == origin]
    return Recording(tuple(_requests(mine, keep)), len(entries) - len(mine))


def _requests(entries: Sequence[FileNode], keep: KeptParts) -> Iterator[RecordedRequest]:
    """Yield them, each with the time since the answer to the one before."""
    ended = _began(entries[0])
    for entry in entries:
        began = _began(entry)
        pause = max(began - ended, 0)
        ended = max(ended, began + _took(entry))
        yield _request(entry, keep, pause if pause >= SHORTEST_PAUSE_US else 0)


def _request(entry: FileNode, keep: KeptParts, pause: int) -> RecordedRequest:
    method = _text(entry, "request", "method").upper()
    if method not in METHODS:
        raise _refused(entry, f"has the method {method!r}", ", ".join(METHODS))
    target = hidden(path_of(_text(entry, "request", "url")), keep)
    headers = dict(kept_headers(_headers(entry), keep))
    body = _text(entry, "request", "postData", "text") if keep.bodies else ""
    return RecordedRequest(
        method,
        target,
        entry.place,
        _began(entry),
        "",
        headers,
        escaped(body) or None,
        pause - pause % SHORTEST_PAUSE_US,
    )


def _headers(entry: FileNode) -> dict[str, str]:
    listed = entry.at("request", "headers")
    found = {_text(one, "name"): _text(one, "value") for one in (listed.entries if listed else ())}
    return {name: value for name, value in found.items() if name and not name.startswith(":")}


def _began(entry: FileNode) -> int:
    moment = iso(_text(entry, "startedDateTime"))
    if moment is None:
        raise _refused(entry, "has no startedDateTime", "2026-01-31T12:00:00.000Z")
    return moment


def _took(entry: FileNode) -> int:
    time = entry.at("time")
    return round(float(time.scalar) * 1000) if time and isinstance(time.scalar, (int, float)) and time.scalar > 0 else 0


def _text(node: FileNode, *names: str) -> str:
    found = node.at(*names)
    return str(found.scalar) if found and found.scalar is not None else ""


def _refused(node: FileNode, message: str, allowed: str) -> InputError:
    return InputError(Problem(message, node.path, node.place.file, node.place.line, allowed=allowed))
