"""A scenario's configuration as plain data: what its id is made of, and what a run's plan keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class Configuration(BaseModel):
    """The parts of a concrete study, every duration written with its unit; a part left out is empty."""

    model_config = ConfigDict(extra="allow", frozen=True)

    system: dict[str, Any] = {}
    faults: dict[str, Any] = {}
    workload: dict[str, Any] = {}
    client: str = ""
    strategy: dict[str, Any] = {}

    @property
    def system_names(self) -> list[str]:
        """What the system is called: its name or its URLs, which in old runs may hold what is refused today."""
        entries = [{"url": self.system.get("url")}, *self.system.get("urls", [])]
        urls = [str(entry.get("url")) for entry in entries if entry.get("url")]
        name = self.system.get("name")
        return urls or ([str(name)] if name else [])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of a system by name; none of one that already runs."""
        return self.system.get("settings") or {}
