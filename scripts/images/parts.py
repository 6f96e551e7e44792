"""The services of a system as users of containers know them: each with its own address, its files and its variables.

They come from the system's own file, at its default settings. A service is called by its name and at a fixed port,
where the lab has addresses of the machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from patternbench.lab import systems, topologies
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import ContainerReadiness, Http, ReadinessCheck, SuccessiveReadiness
from patternbench.lab.host.references import SELF, part_of, producers, resolved
from patternbench.lab.topology import Topology
from patternbench.study.model.placement import CONTAINERS, IN

PASSWORD = "@PASSWORD@"
"""Stands for the one password of a system, which every writer has in its own way."""
HERE, EVERYWHERE = "127.0.0.1", "0.0.0.0"
CONFIG, SCRATCH = "/config", "/tmp"
NUMBERS = {"http": 8080, "admin": 8081, "mysql": 3306, "amqp": 5672, "management": 15672, "prometheus": 15692}
OF_THIS_MACHINE = ("-XX:ErrorFile=", "-XX:SharedArchiveFile=")
"""How options of Java begin that name files of this machine."""
STORES = {"mariadb": "mariadb:10.11", "rabbitmq": "rabbitmq:3.13-management"}
"""Public images of the kinds that the lab runs as processes, and that our services need."""
OTHERWISE = {"gateway": ("/ready", "admin"), "envoy": ("/ready", "admin"), "target": ("/health", "http")}
"""Paths and ports by which kinds are asked that the lab asks in another way."""
FIRST_USER = re.compile(r"^\w+://(?P<user>[^:]+):[^@]*@[^/]+/(?P<database>\w+)$")


@dataclass(frozen=True)
class Health:
    """What our check of health asks: paths of a service at one of its ports, and URLs of others."""

    places: tuple[str, ...]
    port: int

    @property
    def variables(self) -> dict[str, str]:
        """The variables that say so."""
        return {"HEALTH": " ".join(self.places), "HEALTH_PORT": str(self.port)}


@dataclass(frozen=True)
class Part:
    """A service: its image, the words that start it, and what it is asked to know that it is healthy.

    ``check`` says that in place of ``health`` for an image that is not ours. ``needs`` are the services that must be
    healthy before.
    """

    name: str
    kind: str
    image: str
    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    health: Health | None = None
    check: tuple[str, ...] = ()
    ours: bool = True


@dataclass(frozen=True)
class Parts:
    """The services of a system, and those that are called from outside."""

    system: str
    about: str
    parts: tuple[Part, ...]
    entries: tuple[str, ...]


def of_system(name: str) -> Parts:
    """Return the services of a system of ours, and of what they call; balancers and monitoring are left out."""
    system = systems.load(name)
    topology = topologies.of_file(system, {IN: CONTAINERS})
    known = {launch.name: launch for launch in topology.launches if launch.container or launch.kind in STORES}
    parts = tuple(_part(launch, known) for launch in known.values())
    return Parts(name, system.about, parts, tuple(_entries(topology, known)))


def _entries(topology: Topology, known: Mapping[str, Launch]) -> Iterator[str]:
    """Yield the services that are called from outside; behind balancers those that no other calls."""
    inside = [name for name in topology.endpoints if name in known]
    called = {name for launch in known.values() for name in producers(launch)}
    yield from inside or [name for name, launch in known.items() if launch.container and name not in called]


def _part(launch: Launch, known: Mapping[str, Launch]) -> Part:
    return _store(launch) if launch.container is None else _service(launch, known)


def _service(launch: Launch, known: Mapping[str, Launch]) -> Part:
    assert launch.container is not None
    settled = resolved(launch, lambda name, what: _value(launch, known, name, what))
    words = tuple(_word(word) for word in launch.command if not word.startswith(OF_THIS_MACHINE))
    words = tuple(resolved(list(words), lambda name, what: _value(launch, known, name, what)))
    words += ("--host", EVERYWHERE) if launch.kind == "target" else ()
    return Part(
        name=launch.name,
        kind=launch.kind,
        image=launch.container.image,
        words=tuple(word.replace(HERE, EVERYWHERE) for word in words),
        env=dict(settled.env),
        files={file.path: _text(file.content) for file in settled.files},
        ports=_ports(launch),
        needs=tuple(name for name in producers(launch) if name in known),
        health=_health(launch, settled.ready),
    )


def _word(word: str) -> str:
    """Return a word of a command; the folder itself is a place to write, what is below it are its files."""
    return SCRATCH if word == "${self.folder}" else word


def _text(content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    return text.replace(HERE, EVERYWHERE)


def _ports(launch: Launch) -> dict[str, int]:
    return {name: NUMBERS.get(name, 8090 + number) for number, name in enumerate(launch.ports)}


def _value(launch: Launch, known: Mapping[str, Launch], name: str, what: str) -> str | None:
    """Return what a reference of a launch is among containers."""
    if name == SELF:
        return _own(launch, what)
    address, _, part = what.partition(".")
    url = _url(known[name], address)
    return part_of(url, part) if part else url


def _own(launch: Launch, what: str) -> str:
    kind, _, name = what.partition(".")
    facts = {"folder": CONFIG, "user": "10001", "change": "0", "secret": PASSWORD}
    return str(_ports(launch)[name]) if kind == "port" else facts[kind] if kind in facts else _url(launch, what)


def _url(launch: Launch, address: str) -> str:
    """Return the URL at which others reach a service, or one of its endpoints."""
    url = launch.url if address == "url" else launch.endpoints[address]
    return resolved(url, lambda name, what: _own(launch, what) if name == SELF else None).replace(HERE, launch.name)


def _health(launch: Launch, ready: ReadinessCheck) -> Health:
    """Return what says that a service is healthy: what the lab waits for, with every route that it asks then."""
    own = ready.own if isinstance(ready, ContainerReadiness) else ready
    first, then = (own.first, own.urls) if isinstance(own, SuccessiveReadiness) else (own, ())
    path, port = (first.path, first.port) if isinstance(first, Http) else OTHERWISE[launch.kind]
    return Health((path, *then), _ports(launch)[port])


def _store(launch: Launch) -> Part:
    own = {"mariadb": _mariadb, "rabbitmq": _rabbitmq}[launch.kind]
    return own(launch)


def _mariadb(launch: Launch) -> Part:
    """Return a MariaDB whose databases each have their user, as the lab's have."""
    urls = list(launch.endpoints.values()) or [launch.url]
    owned = [match for url in urls if (match := FIRST_USER.match(url))]
    statements = "".join(map(_database, owned))
    script = f'mariadb -uroot -p"$MARIADB_ROOT_PASSWORD" <<END\n{statements}END\n'
    return Part(
        name=launch.name,
        kind=launch.kind,
        image=STORES[launch.kind],
        env={"MARIADB_ROOT_PASSWORD": PASSWORD},
        files={"databases.sh": script},
        ports={"mysql": NUMBERS["mysql"]},
        check=("healthcheck.sh", "--connect", "--innodb_initialized"),
        ours=False,
    )


def _database(owned: re.Match[str]) -> str:
    name, user = owned["database"], owned["user"]
    login = f"CREATE USER '{user}'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';\n"
    return f"CREATE DATABASE {name};\n{login}GRANT ALL ON {name}.* TO '{user}'@'%';\n"


def _rabbitmq(launch: Launch) -> Part:
    return Part(
        name=launch.name,
        kind=launch.kind,
        image=STORES[launch.kind],
        env={"RABBITMQ_DEFAULT_USER": "patternbench", "RABBITMQ_DEFAULT_PASS": PASSWORD},
        ports={name: NUMBERS[name] for name in ("amqp", "management", "prometheus")},
        check=("rabbitmq-diagnostics", "-q", "check_port_connectivity"),
        ours=False,
    )


def listens_at_its_own(part: Part) -> bool:
    """Whether a variable says at which address a service of ours listens and is reached."""
    return part.kind == "jvm_app"
