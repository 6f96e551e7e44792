"""The system under test, one class per way in which a study may name it.

A caller asks a system what it needs to know (where load goes, whom to trust) and never which keys it has. A further
way is a further class: ``_kind`` tells it by its keys, ``KINDS`` and ``DeclaredSystem`` list it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import (
    FileName,
    Headers,
    Model,
    Name,
    Setting,
    askable,
    misplaced,
    sent_as_written,
    written,
)
from patternbench.study.model.placement import IN, Place, ServiceResources
from patternbench.study.model.tree import plain
from patternbench.study.workload.journeys import Weight
from patternbench.terms.roles import Role

CHOICES = ("name", "url", "urls")
"""The keys of which a study gives exactly one."""
DEFAULTS: Mapping[str, object] = {"settings": {}, "ready": "/", "headers": {}}
"""The fields of every system's configuration, whether its kind has them or not, because scenario ids depend on them."""


def reachable(url: str) -> str:
    """Refuses a URL with a login, which the study and so every record of it would hold, and one with no such port."""
    if "@" in url.partition("//")[2].partition("/")[0]:
        allowed = 'a URL without them, and `headers: {Authorization: "Basic ${env:LOGIN}"}`'
        raise PydanticCustomError("login", "holds a user or a password", {"allowed": allowed})
    return url if is_socket(url) else askable(url)


Url = Annotated[str, Field(pattern=r"^(https?://[^\s/]+|unix:/[^\s:]+)", max_length=2000), AfterValidator(reachable)]


def is_socket(url: str) -> bool:
    """Whether a URL is that of a Unix socket: ``unix:/path/of/socket``, and what is asked of it after a colon."""
    return url.startswith("unix:")


@dataclass(frozen=True)
class Endpoint:
    """A URL that load goes to, as often as its weight says among several."""

    url: str
    weight: int = 1


@dataclass(frozen=True)
class Trust:
    """Trust in TLS: a file of authorities (the operating system's by default), whether to verify, the expected name."""

    ca: FileName | None = None
    verify: bool | None = None
    server_name: str | None = None


class System(Model):
    """The system under test. ``about`` says in words what kind of system it is."""

    about: ClassVar[str]

    @property
    def addresses(self) -> list[str]:
        """The URLs of a system that already runs."""
        return []

    @property
    def direct(self) -> bool:
        """Whether load goes straight to it, without a fault proxy."""
        return False

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where load goes directly to it; nothing if a fault proxy is in front of it."""
        return ()

    def paths(self) -> list[str]:
        """Where the study says each of its addresses."""
        return []

    @property
    def sent_headers(self) -> Mapping[str, str]:
        """The headers of every request to it."""
        return {}

    @property
    def ready_path(self) -> str:
        """The path that answers once it is ready."""
        return "/"

    @property
    def trust(self) -> Trust:
        """The authorities to trust there."""
        return Trust()

    @property
    def verified(self) -> bool:
        """Whether certificates are verified."""
        return self.trust.verify is not False

    @property
    def setting_levels(self) -> dict[str, object]:
        """The settings that a concrete system is given, by name; none of one that already runs."""
        return {}

    @property
    def without_settings(self) -> System:
        """The same system without its settings, which aren't part of the load."""
        return self

    @property
    def configuration(self) -> dict[str, object]:
        """A concrete system as plain data, as a scenario's id is made of it."""
        return {**DEFAULTS, **plain(self)}


class NamedSystem(System):
    """A system that the lab brings up: the name of a system file, and settings of it.

    ``in`` says whether its services run as processes (the default) or in a container each, ``services`` what some of
    them may use.
    """

    about = "a system by name"

    name: Name
    settings: dict[str, Levels[Setting]] = Field(default_factory=dict)
    in_: Annotated[Levels[Place] | None, Role.PATTERN] = Field(default=None, alias="in")
    services: Annotated[dict[Name, ServiceResources], Role.PATTERN] = Field(default_factory=dict)

    def omits(self, name: str) -> bool:
        """Where its services run, and what they may use, are part of a configuration where a study says so."""
        return name in ("in_", "services") and not getattr(self, name)

    @property
    def given(self) -> dict[str, Levels[Setting]]:
        """All that its file gets, by name: settings, where its services run, and what they may use."""
        place = {IN: self.in_} if self.in_ else {}
        resources = {
            f"{service}.{name}": levels
            for service, own in self.services.items()
            for name, levels in own
            if levels is not None
        }
        return {**self.settings, **place, **resources}

    @property
    def setting_levels(self) -> dict[str, object]:
        """What a concrete system gets, by name."""
        return {name: plain(level) for name, level in self.given.items()}

    @property
    def without_settings(self) -> NamedSystem:
        """The same system with the settings that its file gives it."""
        return self.model_copy(update={"settings": {}, "in_": None, "services": {}})


class RunningSystem(System):
    """A system that already runs: where it says that it is ready, what is sent to it, and whom to trust there."""

    about = "a system that already runs (url)"

    ready: Annotated[str, Field(pattern=r"^/"), AfterValidator(sent_as_written)] = "/"
    headers: Headers = Field(default_factory=dict)
    ca: FileName | None = None
    verify: bool | None = None
    server_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None

    def omits(self, name: str) -> bool:
        """Fields left open aren't part of a configuration."""
        return getattr(self, name) is None

    @property
    def sent_headers(self) -> Mapping[str, str]:
        """The headers of every request to it."""
        return self.headers

    @property
    def ready_path(self) -> str:
        """The path that answers once it is ready."""
        return self.ready

    @property
    def trust(self) -> Trust:
        """The authorities to trust there."""
        return Trust(self.ca, self.verify, self.server_name)

    @model_validator(mode="after")
    def _certificates(self) -> RunningSystem:
        options = [name for name, value in vars(self.trust).items() if value is not None]
        if options and not any(url.startswith("https:") for url in self.addresses):
            raise misplaced(options[0], "a URL without TLS", "an https:// URL")
        if self.verify is False and self.ca is not None:
            raise misplaced("ca", "verify: false, which trusts anybody", "one of ca, verify: false")
        return self


class OneUrlSystem(RunningSystem):
    """A system at one URL; several URLs are levels, and are compared."""

    url: Levels[Url]

    @property
    def addresses(self) -> list[str]:
        """Its URL, or its levels."""
        return list(self.url)

    def paths(self) -> list[str]:
        """Return the only URL, or each level."""
        return _numbered("system.url", self.url) if len(self.url) > 1 else ["system.url"]


class UrlSystem(OneUrlSystem):
    """A system behind a fault proxy."""

    @model_validator(mode="after")
    def _reached_alike(self) -> UrlSystem:
        """Deployments that are compared are either all behind the fault proxy, or none is."""
        if len({url.split(":")[0] for url in self.url}) > 1:
            message = "the levels of `url` use different kinds of connections, which would be compared as well"
            raise PydanticCustomError("mixed_urls", message, {"allowed": "all http://, all https://, or all sockets"})
        return self


class SocketSystem(OneUrlSystem):
    """A system at a Unix socket, without a fault proxy."""

    about = "a Unix socket"

    @property
    def direct(self) -> bool:
        """Load goes straight to the socket."""
        return True

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return the socket."""
        return tuple(map(Endpoint, self.url))


class WeightedUrl(Model):
    """One of several URLs that load goes to in turn, as often as its weight says."""

    url: Url
    weight: Levels[Weight] = Levels.one(1)

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, value: object) -> object:
        return {"url": value} if isinstance(value, str) else value


class UrlsSystem(RunningSystem):
    """A system at several URLs that load goes to in turn, without a fault proxy."""

    about = "several URLs"

    urls: Annotated[list[WeightedUrl], Field(min_length=1, max_length=1000)]

    @property
    def addresses(self) -> list[str]:
        """Its URLs."""
        return [entry.url for entry in self.urls]

    @property
    def direct(self) -> bool:
        """Load goes straight to each of them."""
        return True

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Its URLs with their weights."""
        return tuple(Endpoint(entry.url, entry.weight.level) for entry in self.urls)

    def paths(self) -> list[str]:
        """Each entry."""
        return _numbered("system.urls", self.urls)

    @model_validator(mode="after")
    def _somebody_is_asked(self) -> UrlsSystem:
        if all(max(entry.weight) == 0 for entry in self.urls):
            message = "every URL has the weight 0, so none gets a request"
            raise PydanticCustomError("weights", message, {"allowed": "a weight above 0 for at least one URL"})
        return self


def _numbered(path: str, entries: Sequence[object]) -> list[str]:
    return [f"{path}[{number}]" for number in range(len(entries))]


KINDS: dict[str, type[System]] = {kind.__name__: kind for kind in (NamedSystem, UrlSystem, UrlsSystem, SocketSystem)}


def _kind(value: object) -> str:
    """Return the name of the class that a study's text, or a system, is of."""
    if isinstance(value, System):
        return type(value).__name__
    if not isinstance(value, dict) or "name" in value:
        return NamedSystem.__name__
    if "urls" in value:
        return UrlsSystem.__name__
    url = value.get("url")
    levels = url if isinstance(url, (list, tuple)) else [url]
    return (SocketSystem if all(is_socket(str(level)) for level in levels) else UrlSystem).__name__


def _written(value: object) -> object:
    """Return a system as a study writes it, with exactly one of the keys of its kinds."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        return value
    parts = {key: part for key, part in value.items() if key not in CHOICES or part is not None}
    _one_choice([key for key in CHOICES if key in parts])
    kind = KINDS[_kind(parts)]
    others = {name for other in KINDS.values() for name in _written_fields(other)} - _written_fields(kind)
    for key in sorted(others & {*parts}):
        raise misplaced(key, kind.about)
    return parts


def _written_fields(kind: type[System]) -> set[str]:
    """Return the fields of a kind by the names that a study writes."""
    return set(map(written, kind.model_fields))


def _one_choice(keys: list[str]) -> None:
    if len(keys) != 1:
        stated = f"{' and '.join(keys)} are given together" if keys else "none is given"
        allowed = f"exactly one of {', '.join(CHOICES)}"
        raise PydanticCustomError("one_of", "{said}", {"said": stated, "allowed": allowed})


DeclaredSystem = Annotated[
    Annotated[NamedSystem, Tag("NamedSystem")]
    | Annotated[UrlSystem, Tag("UrlSystem")]
    | Annotated[UrlsSystem, Tag("UrlsSystem")]
    | Annotated[SocketSystem, Tag("SocketSystem")],
    Discriminator(_kind),
    BeforeValidator(_written),
]
"""A system as a study declares it; tags are the names of the classes."""
_SYSTEM: TypeAdapter[System] = TypeAdapter(DeclaredSystem)


def declared(value: object) -> System:
    """Return the system that plain data declares as a study does; raises pydantic's ValidationError."""
    return _SYSTEM.validate_python(value)


def configured(configuration: Mapping[str, object]) -> System:
    """Return the system of a scenario's configuration, which holds defaults that a study must not write."""
    fields = _written_fields(KINDS[_kind(configuration)])
    return declared({name: value for name, value in configuration.items() if name in fields})
