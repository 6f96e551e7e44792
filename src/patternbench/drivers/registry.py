"""Which clients there are, and what each needs to start: one folder a client, described by its ``client.yaml``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

from pydantic import Field

from patternbench.drivers.limits import STRATEGY, LibraryLimit
from patternbench.lab import shipped
from patternbench.lab.software import engine
from patternbench.lab.software.needs import Need
from patternbench.study.load import validated
from patternbench.study.models import ClientAt, Model, Strategy
from patternbench.study.text.document import parse
from patternbench.study.text.files import read_text
from patternbench.study.workload.policies import POLICIES
from patternbench.terms.problems import InputError, Problem, did_you_mean

FOLDER = shipped.folder("clients")
StrategyKind = Literal["baseline", "retry", "circuit_breaker", "stack"]
STRATEGIES: tuple[str, ...] = get_args(StrategyKind)


class ClientFile(Model):
    """A ``client.yaml``: how a client is built, tested and started, what must be there first, its library's limits.

    ``policies`` are those that its stacks may have; ``kit`` is the folder of ``clients/kits`` that it shares;
    ``carries`` are the files that a wheel takes along.
    """

    about: str
    language: str
    strategies: Annotated[list[StrategyKind], Field(min_length=1)]
    policies: list[str] = Field(default_factory=list)
    command: list[str]
    needs: str
    how: str
    kit: str = ""
    build: list[str] = Field(default_factory=list)
    test: list[str] = Field(default_factory=list)
    carries: list[str] = Field(default_factory=list)
    limits: list[LibraryLimit] = Field(default_factory=list)

    @property
    def sources_travel(self) -> bool:
        """Whether a wheel carries what it is built from, and not what was built."""
        return bool(self.carries) and not any(self.needs.endswith(f"/{file}") for file in self.carries)

    @property
    def sources_run(self) -> bool:
        """Whether its sources run as they are, and what is built is only what they need."""
        return self.sources_travel and self.needs not in self.command


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
    strategies: tuple[str, ...] = STRATEGIES
    policies: tuple[str, ...] = POLICIES


def names() -> list[str]:
    """Return the clients that come with patternbench."""
    return sorted(path.parent.name for path in FOLDER.glob("*/client.yaml"))


def find(name: str, declared: Mapping[str, ClientAt]) -> ClientSpec | Problem:
    """Return the client of that name, declared by the study or one of ours; a Problem when there is none."""
    if name in declared:
        at = declared[name]
        return ClientSpec(name, tuple(at.command or ()), at.url or "", own=True)
    if not (FOLDER / name / "client.yaml").is_file():
        clients = [*names(), *declared]
        hint = did_you_mean(name, clients) or "see docs/write-a-client.md to add one, or run with --skip-unavailable"
        return Problem(f"there is no client `{name}`", path="strategies", allowed=", ".join(clients), hint=hint)
    return _ours(name)


def required(name: str, declared: ClientAt | None) -> ClientSpec:
    """Return the client of that name, declared by the study or shipped.

    Raises InputError if it isn't available here.
    """
    client = find(name, {name: declared} if declared else {})
    problems = [client] if isinstance(client, Problem) else missing(client)
    if isinstance(client, Problem) or problems:
        raise InputError(problems)
    return client


def limits_of(name: str, declared: Mapping[str, ClientAt]) -> tuple[LibraryLimit, ...]:
    """Return a library's limits, as far as known without starting its client; nothing for an unavailable client."""
    client = find(name, declared)
    return () if isinstance(client, Problem) else client.limits


def described(name: str) -> ClientFile:
    """Return the ``client.yaml`` of a shipped client."""
    path = FOLDER / name / "client.yaml"
    return _read(path, path.stat().st_mtime_ns)


def strategy_problems(client: ClientSpec | Problem, strategy: Strategy) -> Iterator[Problem]:
    """Yield a strategy that a client's description leaves out; a client of the study's own is asked when it runs."""
    if isinstance(client, Problem):
        return
    if strategy.kind not in client.strategies:
        yield _lacking(client.name, strategy.kind, f"{STRATEGY}.{strategy.kind}", client.strategies)
        return
    for number, policy in enumerate(strategy.stack or []):
        if policy.kind not in client.policies:
            yield _lacking(client.name, policy.kind, f"{STRATEGY}.stack[{number}].{policy.kind}", client.policies)


def _lacking(client: str, kind: str, path: str, allowed: Sequence[str]) -> Problem:
    return Problem(f"client {client} does not have {kind}", path, allowed=", ".join(allowed))


def missing(spec: ClientSpec) -> list[Problem]:
    """Return the problem that keeps a client from starting here."""
    message = "client `{}` cannot start: {} is missing"
    return [
        Problem(
            message.format(spec.name, need.name), path="strategies", hint=f"{need.how}, or run with --skip-unavailable"
        )
        for need in spec.needs
        if not need.met
    ]


def _ours(name: str) -> ClientSpec:
    file, marks = described(name), marks_of(name)
    command = tuple(filled(word, marks) for word in file.command)
    file_needed = filled(file.needs, marks)
    build = tuple(filled(word, marks) for word in file.build)
    install = (build,) if file.sources_travel and shutil.which(build[0]) else ()
    built = _file(file_needed, _how(file), install)
    how = built.how if file.sources_travel else file.how
    # What is built brings its program along.
    program: tuple[Need, ...] = () if command[0].startswith(marks["${here}"]) else (_program(command[0], how),)
    needs = {need.name: need for need in (*program, built)}
    return ClientSpec(
        name=name,
        command=command,
        needs=tuple(needs.values()),
        limits=tuple(file.limits),
        strategies=tuple(file.strategies),
        policies=tuple(file.policies),
    )


def _how(file: ClientFile) -> str:
    """Return what to type if a client isn't built.

    A wheel's ``doctor --install`` builds the clients whose sources it has.
    """
    if not shipped.from_wheel():
        return file.how
    if not file.sources_travel:
        return shipped.how_to_build("clients")
    return file.how.replace("`make clients` or ", "").replace("`make clients`", "`patternbench doctor --install`")


def marks_of(name: str) -> dict[str, str]:
    """Return the values of the marks in a ``client.yaml``."""
    programs = {"${engine}": str(engine.find() or ""), "${python}": sys.executable}
    return {"${here}": str(FOLDER / name), "${clients}": str(FOLDER), **programs}


@lru_cache(maxsize=64)
def _read(path: Path, _modified_ns: int) -> ClientFile:
    """Return a client's file, which is asked for before each round and read again only once it has changed."""
    return cast(ClientFile, validated(ClientFile, parse(read_text(path), str(path))))


def _program(command: str, how: str) -> Need:
    return Need(Path(command).name or engine.NAME, shutil.which(command) if command else None, how)


def _file(path: str, how: str, install: tuple[tuple[str, ...], ...]) -> Need:
    return Need(Path(path).name or engine.NAME, path if Path(path).is_file() else None, how, install)


def filled(text: str, marks: Mapping[str, str]) -> str:
    """Return a text of a ``client.yaml`` with its marks filled in."""
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text
