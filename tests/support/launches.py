"""Launches as a host would run them, without running anything."""

from __future__ import annotations

from collections.abc import Mapping

from patternbench.lab.host.launch import Launch
from patternbench.lab.host.references import SELF, address_of, part_of, reached, resolved

OWN = {"folder": "/own", "change": "0", "user": "ann", "secret.password": "hidden"}


def settled(launch: Launch, urls: Mapping[str, str]) -> Launch:
    """A launch with its references replaced: neighbours are at these URLs, its own ports count from 1000."""
    own = OWN | {f"port.{name}": str(1000 + number) for number, name in enumerate(launch.ports)}

    def value(name: str, what: str) -> str | None:
        if name == SELF:
            return own[what]
        producer, requested = reached(launch, name, what)
        endpoint, _, part = requested.partition(".")
        url = urls[address_of(producer, endpoint)]
        return part_of(url, part) if part else url

    return resolved(launch, value)
