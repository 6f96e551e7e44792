"""The files that a job of the load engine names, so that a generator on another machine can have them too."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from patternbench.drivers.origins import Job

JobPart = dict[str, object]


def contents(job: Job) -> dict[str, bytes]:
    """Return what each file holds that a job names, by its path; raises OSError."""
    return {path: Path(path).read_bytes() for part, name in _places(job) if (path := cast(str, part[name]))}


def named_anew(job: Job, name_of: Callable[[str], str]) -> Job:
    """Return the same job, with other names of its files."""
    made = copy.deepcopy(job)
    for part, name in _places(made):
        part[name] = name_of(cast(str, part[name]))
    return made


def _places(job: Job) -> Iterator[tuple[JobPart, str]]:
    """Yield the fields of a job that name files. A JSON body is the user's own, whatever its fields are called."""
    yield from _given(job.get("tls"), "ca_file")
    for group in _list(job, "groups"):
        yield from _given(group.get("feeder"), "file")
        yield from _given(_field_below(group, "workload", "open", "schedule", "trace"), "file")
        for journey in _list(group, "journeys"):
            for step in _list(journey, "steps"):
                yield from _given(step, "body_file")


def _list(part: Mapping[str, object], name: str) -> list[JobPart]:
    return cast(list[JobPart], part.get(name) or [])


def _field_below(part: object, *names: str) -> object:
    for name in names:
        part = part.get(name) if isinstance(part, dict) else None
    return part


def _given(part: object, name: str) -> Iterator[tuple[JobPart, str]]:
    if isinstance(part, dict) and isinstance(part.get(name), str):
        yield part, name
