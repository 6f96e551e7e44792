"""References in the texts of a launch: what only a host knows of a component, by name.

``${self.port.http}``, ``${self.secret.password}``, ``${self.said.listening}``, ``${self.folder}`` and ``${self.user}``
are about the component itself. ``${shop.url}`` is where another one is reached, ``${sidecar.gossip}`` one of its
endpoints, and ``${shop.url.address}`` a part of it (see ``PARTS``). A setting (``${workers}``) has no dot; the system
file resolves it before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast
from urllib.parse import SplitResult, urlsplit

from patternbench.lab.host.launch import Launch

SELF = "self"
URL = "url"
"""The name of a component's address that isn't one of its endpoints."""
REFERENCE = re.compile(r"\$\{([A-Za-z0-9][\w-]*)\.([\w.-]+)\}")
PARTS: Mapping[str, Callable[[SplitResult], str | None]] = {
    "scheme": lambda url: url.scheme,
    "address": lambda url: url.netloc.rpartition("@")[2],
    "host": lambda url: url.hostname,
    "port": lambda url: str(url.port or (443 if url.scheme == "https" else 80)),
    "login": lambda url: "".join(url.netloc.rpartition("@")[:2]),
    "user": lambda url: url.username or None,
    "password": lambda url: url.password or None,
    "database": lambda url: url.path.strip("/") or None,
    "path": lambda url: url.path.rstrip("/"),
}
"""Parts of a URL by name; ``login`` is ``user:password@``, or nothing."""

Value = Callable[[str, str], str | None]
"""The value of a reference, by component and part; None for a part that a URL lacks."""
Node = TypeVar("Node")


def reference(name: str, what: str = URL) -> str:
    """Return a reference to something of a component."""
    return f"${{{name}.{what}}}"


def behind(name: str, port: str, endpoint: str = URL) -> str:
    """Return the URL of a proxy in front of a component: the component's own, with the proxy's port.

    ``endpoint`` is the address that the proxy is in front of.
    """
    scheme, login, path = (reference(name, f"{endpoint}.{part}") for part in ("scheme", "login", "path"))
    return f"{scheme}://{login}127.0.0.1:{reference(SELF, f'port.{port}')}{path}"


def part(url: str, name: str) -> str:
    """Return a part of a URL by its name, empty where it lacks it; for a reference, a reference to that part."""
    alone = REFERENCE.fullmatch(url)
    return reference(alone[1], f"{alone[2]}.{name}") if alone else part_of(url, name) or ""


def part_of(url: str, name: str) -> str | None:
    """Return a part of a URL by its name; raises KeyError for a name that is not in ``PARTS``."""
    return PARTS[name](urlsplit(url))


def address_of(name: str, endpoint: str) -> str:
    """Return the name of a component's address: the component's name, or ``shop.admin`` for one of its endpoints."""
    return name if endpoint == URL else f"{name}.{endpoint}"


def reached(launch: Launch, name: str, what: str) -> tuple[str, str]:
    """Return the component and the part from which a launch gets the value of a reference.

    That is the component itself, or the URL of the proxy on the link to that address.
    """
    endpoint, dot, part = what.partition(".")
    proxy = launch.via.get(address_of(name, endpoint))
    return (proxy, f"{URL}{dot}{part}") if proxy else (name, what)


def addresses(launch: Launch) -> list[tuple[str, str]]:
    """Return the components that a launch refers to, each with the endpoint that it asks for.

    ``url`` is the component's.
    """
    return list(dict.fromkeys((name, what.partition(".")[0]) for name, what in _references(launch)))


def producers(launch: Launch) -> list[str]:
    """Return the components that must be ready before a launch starts."""
    names = [reached(launch, name, what)[0] for name, what in _references(launch)]
    return list(dict.fromkeys([*names, *launch.after]))


def _references(launch: Launch) -> Iterator[tuple[str, str]]:
    """Yield the references of a launch to other components, in the order of mention."""
    yield from ((name, what) for name, what in _all_references(launch) if name != SELF)


def unknown(launch: Launch, producing: Mapping[str, Launch]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield a launch's references to what no one has: component, part, and the parts that there are.

    What a component says when it starts (``said.NAME``) is known to no one before, and components that are not there
    at all are left to those who know the names.
    """
    own = _of_itself(launch)
    for name, what in dict.fromkeys(_all_references(launch)):
        known = own if name == SELF else _addresses(producing[name]) if name in producing else None
        if known is not None and not _is_among(what, known):
            yield name, what, known


def _of_itself(launch: Launch) -> list[str]:
    """Return what a component may refer to of itself."""
    made = [f"port.{name}" for name in launch.ports] + [f"secret.{name}" for name in launch.secrets]
    return ["folder", "user", "change", *made, *_addresses(launch)]


def _addresses(launch: Launch) -> list[str]:
    return [URL, *launch.endpoints]


def _is_among(what: str, known: list[str]) -> bool:
    address, dot, part = what.partition(".")
    is_part = dot and address in known and part in PARTS
    return what in known or bool(is_part) or address == "said"


def _all_references(launch: Launch) -> Iterator[tuple[str, str]]:
    for text in _texts(launch):
        yield from REFERENCE.findall(text)


def resolved(node: Node, value: Value) -> Node:
    """Return a launch, or a part of one, with every reference replaced."""
    return cast(Node, _resolved(node, value))  # it is of the node's own type


def _resolved(node: object, value: Value) -> object:
    if isinstance(node, str):
        return REFERENCE.sub(lambda match: value(match[1], match[2]) or "", node)
    if isinstance(node, Mapping):
        return {key: _resolved(entry, value) for key, entry in node.items() if not _lacking(entry, value)}
    if isinstance(node, (list, tuple)):
        return type(node)(_resolved(entry, value) for entry in node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{field.name: _resolved(getattr(node, field.name), value) for field in fields(node)})
    return node


def _lacking(entry: object, value: Value) -> bool:
    """Whether an entry is one reference to something that is not there."""
    alone = REFERENCE.fullmatch(entry) if isinstance(entry, str) else None
    return alone is not None and value(alone[1], alone[2]) is None


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        yield from (text for entry in node.values() for text in _texts(entry))
    elif isinstance(node, (list, tuple)):
        yield from (text for entry in node for text in _texts(entry))
    elif is_dataclass(node) and not isinstance(node, type):
        yield from (text for field in fields(node) for text in _texts(getattr(node, field.name)))
