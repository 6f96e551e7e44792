"""A running component, with the values of its references and live parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from patternbench.lab.host.accounts import Account
from patternbench.lab.host.calls import Call
from patternbench.lab.host.contained import NOTHING_CONTAINED, STARTED, ComponentContainers, contained, notes, restated
from patternbench.lab.host.launch import File, FreshStart, Launch, LiveCall, LiveFile, Preparation, Renewal
from patternbench.lab.host.processes import Process, StartError
from patternbench.lab.host.ready import announcements
from patternbench.lab.host.references import SELF, Value, part_of, reached, reference, resolved

CHANGE = "change"
"""The fact that counts how often live files have changed."""


@dataclass
class RunningComponent:
    """A component that is up: its launch with every reference resolved, its process, where it is reached.

    ``declared`` is the launch as it described itself, ``facts`` what a host knows of it, by the names of references.
    ``account`` is who it runs as; ``folder`` is its own. ``calls`` are the live calls that it took last, by name.
    ``contained`` is what it said of its containers.
    """

    declared: Launch
    launch: Launch
    process: Process
    folder: Path
    account: Account
    facts: dict[str, str]
    url: str = ""
    endpoints: Mapping[str, str] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    contained: ComponentContainers = NOTHING_CONTAINED
    moved: bool = False
    """Whether it is reached elsewhere since the last change, which left it up."""
    _noted: int = 0

    @property
    def parents(self) -> tuple[int, ...]:
        """The processes from which its own descend: those of the engine for its containers, or else our guard."""
        return self.contained.parents or (self.process.pid,)

    def note_containers(self) -> None:
        """Take note of what it has said of its containers since it was started."""
        if self.declared.contained or self.declared.container:
            self.contained = contained(announcements(self.process.written()))

    def new_notes(self) -> list[str]:
        """Return the warnings that it has announced since it was last asked; each is returned once."""
        if not self.declared.contained:
            return []
        text = self.process.read(max(self._noted, self.process.begun))
        whole = text[: text.rfind(b"\n") + 1]
        self._noted = max(self._noted, self.process.begun) + len(whole)
        return list(notes(whole.decode(errors="replace")))

    def restated(self) -> list[str]:
        """Take what it says of its containers since its settings changed; return the services that were started."""
        stated = restated(self.folder)
        self.facts |= {f"said.{key}": str(value) for key, value in stated.items()}
        before, of_itself = (self.url, self.endpoints), value_of(self.declared, self.facts.__getitem__, {})
        self.url, self.endpoints = resolved((self.declared.url, self.declared.endpoints), of_itself)
        self.contained, self.moved = contained(stated), before != (self.url, self.endpoints)
        services = stated.get(STARTED)
        return list(map(str, services)) if isinstance(services, list) else []

    def address(self, what: str) -> str | None:
        """Return the value of a reference to it: ``url``, an endpoint's name, or a part of either."""
        name, _, part = what.partition(".")
        url = self.url if name == "url" else self.endpoints[name]
        return part_of(url, part) if part else url

    def value(self, producing: Mapping[str, RunningComponent]) -> Value:
        """Return the current values of its own references."""
        return value_of(self.declared, self._own, producing)

    def _own(self, what: str) -> str | None:
        return self.facts[what] if what in self.facts else self.address(what)

    @property
    def resets(self) -> tuple[Call | Preparation | Renewal, ...]:
        """What is done between rounds while it stays up: it drops what it was asked, then its resets."""
        own = tuple(reset for reset in self.declared.reset or () if not isinstance(reset, FreshStart))
        return (self.declared.drop, *own) if self.declared.drop else own

    def changed_files(self, producing: Mapping[str, RunningComponent]) -> list[File]:
        """Those of its live files whose content is not what was written last."""
        live = {part.path for part in self.declared.live if isinstance(part, LiveFile)}
        expected = resolved([file for file in self.declared.files if file.path in live], self.value(producing))
        return [file for file in expected if file not in self.launch.files]

    def count_change(self) -> None:
        """Count a change of live files, which their content and the question after it may hold."""
        self.facts[CHANGE] = str(int(self.facts[CHANGE]) + 1)

    def wrote(self, files: list[File]) -> None:
        """Note the content that live files have now."""
        written = {file.path: file for file in files}
        self.launch = replace(self.launch, files=tuple(written.get(file.path, file) for file in self.launch.files))

    def live_files(self, paths: set[str], producing: Mapping[str, RunningComponent]) -> list[LiveFile]:
        """How live files of these paths are made to act."""
        parts = [part for part in self.declared.live if isinstance(part, LiveFile) and part.path in paths]
        return resolved(parts, self.value(producing))

    def live_calls(self, producing: Mapping[str, RunningComponent]) -> dict[str, Call]:
        """Return the calls of its live settings by name."""
        parts = [part for part in self.declared.live if isinstance(part, LiveCall)]
        return {part.name: resolved(part.call, self.value(producing)) for part in parts}


def value_of(launch: Launch, own: Callable[[str], str | None], producing: Mapping[str, RunningComponent]) -> Value:
    """Return the values of a launch's references, from itself and from the components that it needs."""

    def value(name: str, what: str) -> str | None:
        try:
            if name == SELF:
                return own(what)
            producer, requested = reached(launch, name, what)
            return producing[producer].address(requested)
        except KeyError:
            raise StartError(f"{launch.name} refers to {reference(name, what)}, which doesn't exist") from None

    return value
