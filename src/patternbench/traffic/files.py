"""A file of traffic as a study: what kind it is, what is taken over, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.study.text.document import without_comments
from patternbench.study.text.files import read_start, read_text
from patternbench.study.text.json_nodes import json_node
from patternbench.study.text.nodes import FileNode
from patternbench.study.text.yaml_nodes import yaml_nodes
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem
from patternbench.traffic import access_logs, arrivals, curl, har, openapi, studies
from patternbench.traffic.requests import KeptParts, RecordedRequest

NOTHING = KeptParts()
START = 65_536
LARGEST = 4_000_000
KNOWN = "an access log, a HAR file, an OpenAPI description, or commands of curl"


@dataclass(frozen=True)
class TrafficSelection:
    """What is wanted of a file of traffic."""

    name: str
    url: str
    session: str = ""
    speed: float = 1.0
    keep: KeptParts = NOTHING


@dataclass(frozen=True)
class Imported:
    """The files of a study by their names, the study first, and what has to be said of them."""

    kind: str
    files: dict[str, str]
    notes: tuple[str, ...]


def imported(path: Path, wanted: TrafficSelection) -> Imported:
    """Return the study that a file makes. Raises InputError naming the lines that aren't understood."""
    start = read_start(path, START).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if curl.recognises(start):
        return _of_commands(path, wanted)
    if path.suffix in (".yml", ".yaml"):
        return _of_tree(yaml_nodes(read_text(path, LARGEST), str(path))[:1], path, wanted)
    if path.suffix == ".har" or (start.startswith("{") and not access_logs.recognises(start)):
        return _of_tree([json_node(without_comments(read_text(path, LARGEST)), str(path))], path, wanted)
    return _of_log(path, wanted)


def _of_tree(roots: Sequence[FileNode], path: Path, wanted: TrafficSelection) -> Imported:
    for root in roots:
        if har.recognises(root):
            return _of_recording(root, wanted)
        if openapi.recognises(root):
            return _of_description(root, wanted)
    raise InputError(Problem("isn't known traffic", file=str(path), allowed=KNOWN))


def _of_log(path: Path, wanted: TrafficSelection) -> Imported:
    read = access_logs.read(path, wanted.session)
    made = arrivals.of_requests(read.requests, wanted.keep, wanted.speed, read.whole_seconds)
    came = f"{plural(len(made.lines), 'arrival')} of {plural(made.users, 'user')}"
    notes = [f"{came} in {made.lasts_us / 1e6:.0f} s, from {path}"]
    if read.without_request:
        lines = plural(read.without_request, "line")
        notes.append(f"{lines} without a request that HTTP has: left out")
    if read.whole_seconds:
        notes.append("the log has whole seconds: arrivals of one second are spaced evenly within it")
    if made.columns:
        notes.append("numbers and other identifiers come from the log, in its order")
    writes = sorted({one.method for one in made.patterns} & {"POST", "PUT", "PATCH", "DELETE"})
    if writes:
        notes.append(f"a log holds no bodies: {', '.join(writes)} are sent without one")
    return _told("access log", studies.of_arrivals(wanted.name, wanted.url, made, notes), notes)


def _of_recording(root: FileNode, wanted: TrafficSelection) -> Imported:
    recording = har.of_root(root, wanted.keep)
    notes = [f"{len(recording.requests):,} requests of one user, with its pauses, from {root.place.file}"]
    if recording.elsewhere:
        notes.append(f"{recording.elsewhere:,} requests to other servers are left out")
    notes += _left_out(recording.requests, wanted.keep)
    return _told("HAR", studies.of_journey(wanted.name, wanted.url, recording.requests, notes), notes)


def _of_commands(path: Path, wanted: TrafficSelection) -> Imported:
    requests = curl.read(path, wanted.keep)
    notes = [f"{len(requests):,} commands of curl, from {path}", *_left_out(requests, wanted.keep)]
    return _told("curl", studies.of_journey(wanted.name, wanted.url, requests, notes), notes)


def _of_description(root: FileNode, wanted: TrafficSelection) -> Imported:
    found = openapi.read(root, wanted.keep)
    if not found.requests:
        raise InputError(found.left_out or [Problem("describes no operation", file=root.place.file)])
    notes = [f"{len(found.requests):,} operations of {root.place.file}, with the values of its examples"]
    notes += [str(problem) for problem in found.left_out] + _left_out(found.requests, wanted.keep)
    return _told("OpenAPI", studies.of_operations(wanted.name, wanted.url, found.requests, notes), notes)


def _left_out(requests: Sequence[RecordedRequest], keep: KeptParts) -> list[str]:
    notes = []
    if not keep.bodies and any(one.method in ("POST", "PUT", "PATCH") for one in requests):
        notes.append("bodies are left out: --bodies takes them over")
    if any("${env:" in text for one in requests for text in (one.target, *one.headers.values())):
        notes.append("secrets are taken from the environment: set the variables that are named as ${env:NAME}")
    return notes


def _told(kind: str, files: dict[str, str], notes: Sequence[str]) -> Imported:
    return Imported(kind, files, tuple(notes))
