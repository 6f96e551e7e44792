"""Which clients there are, and what each needs to start: one folder a client, described by its ``client.yaml``."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from pydantic import Field

from patternbench.drivers.limits import LibraryLimit
from patternbench.lab import engine, shipped
from patternbench.lab.needs import Need
from patternbench.study.document import parse
from patternbench.study.files import read_text
from patternbench.study.load import validated
from patternbench.study.models import ClientAt, Model
from patternbench.study.problems import InputError, Problem, did_you_mean

FOLDER = shipped.folder("clients")


class ClientFile(Model):
    """A ``client.yaml``: how a client is started, the file that must be there first, and its library's limits."""

    about: str
    command: list[str]
    needs: str
    how: str
    limits: list[LibraryLimit] = Field(default_factory=list)


@dataclass(frozen=True)
class ClientSpec:
    """A client that can be had: by a command that starts it, or at a URL where it already runs.

    ``own`` is one that the study declares: paths in its command are found from the study's folder.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    own: bool = False
    needs: tuple[Need, ...] = ()
    limits: tuple[LibraryLimit, ...] = ()


def names() -> list[str]:
    """The clients that come with patternbench."""
    return sorted(path.parent.name for path in FOLDER.glob("*/client.yaml"))


def find(name: str, declared: Mapping[str, ClientAt]) -> ClientSpec | Problem:
    """The client of that name, declared by the study or one of ours; a Problem when there is none."""
    if name in declared:
        at = declared[name]
        return ClientSpec(name, tuple(at.command or ()), at.url or "", own=True)
    if not (FOLDER / name / "client.yaml").is_file():
        clients = [*names(), *declared]
        hint = did_you_mean(name, clients) or "see docs/write-a-client.md to add one, or run with --skip-unavailable"
        return Problem(f"there is no client `{name}`", path="strategies", allowed=", ".join(clients), hint=hint)
    return _ours(name)


def required(name: str, declared: ClientAt | None) -> ClientSpec:
    """The client of that name, declared by the study or one of ours; raises InputError when it cannot be had here."""
    client = find(name, {name: declared} if declared else {})
    problems = [client] if isinstance(client, Problem) else missing(client)
    if isinstance(client, Problem) or problems:
        raise InputError(problems)
    return client


def limits_of(name: str, declared: Mapping[str, ClientAt]) -> tuple[LibraryLimit, ...]:
    """What is known of a library's limits without starting its client; nothing for a client that cannot be had."""
    client = find(name, declared)
    return () if isinstance(client, Problem) else client.limits


def missing(spec: ClientSpec) -> list[Problem]:
    """What keeps a client from starting here."""
    message = "client `{}` cannot start: {} is missing"
    return [
        Problem(
            message.format(spec.name, need.name), path="strategies", hint=f"{need.how}, or run with --skip-unavailable"
        )
        for need in spec.needs
        if not need.met
    ]


def _ours(name: str) -> ClientSpec:
    path = FOLDER / name / "client.yaml"
    file = _read(path, path.stat().st_mtime_ns)
    binary = engine.find()
    places = {"${here}": str(path.parent), "${engine}": str(binary or "")}
    command = tuple(_filled(word, places) for word in file.command)
    file_needed = _filled(file.needs, places)
    how = shipped.how_to_build("clients") if shipped.from_wheel() else file.how
    needs = {need.name: need for need in (_program(command[0], file.how), _file(file_needed, how))}
    return ClientSpec(name, command, needs=tuple(needs.values()), limits=tuple(file.limits))


@lru_cache(maxsize=64)
def _read(path: Path, _modified_ns: int) -> ClientFile:
    """A client's file. It is asked for again before each round, so that it is read anew only once it has changed."""
    return cast(ClientFile, validated(ClientFile, parse(read_text(path), str(path))))


def _program(command: str, how: str) -> Need:
    return Need(Path(command).name or engine.NAME, shutil.which(command) if command else None, how)


def _file(path: str, how: str) -> Need:
    return Need(Path(path).name or engine.NAME, path if Path(path).is_file() else None, how)


def _filled(text: str, places: Mapping[str, str]) -> str:
    for mark, value in places.items():
        text = text.replace(mark, value)
    return text
