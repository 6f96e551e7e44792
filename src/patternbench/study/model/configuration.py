"""A scenario's configuration as plain data: what its id is made of, and what a run's plan keeps of it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict


class _Callers(BaseModel):
    """What a workload, or each of its groups, says of arrivals."""

    open: object = None
    groups: list[_Callers] | None = None


class Configuration(BaseModel):
    """The parts of a concrete study, every duration written with its unit; a part left out is empty."""

    model_config = ConfigDict(extra="allow", frozen=True)

    system: dict[str, object] = {}
    faults: dict[str, object] = {}
    workload: dict[str, object] = {}
    client: str = ""
    strategy: dict[str, object] = {}
    traces: dict[str, str] = {}

    @property
    def users_wait(self) -> bool:
        """Whether any calls are those of users who wait for their answers, not arrivals."""
        callers = _Callers.model_validate(self.workload)
        return any(one.open is None for one in callers.groups or [callers])

    @property
    def system_names(self) -> list[str]:
        """The system's names: its own or its URLs. Those of old runs may have a form that is refused today."""
        several = self.system.get("urls")
        entries = [self.system, *(several if isinstance(several, list) else [])]
        urls = [str(entry["url"]) for entry in entries if entry.get("url")]
        name = self.system.get("name")
        return urls or ([str(name)] if name else [])

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of a system by name; none of one that already runs."""
        settings = self.system.get("settings")
        return settings if isinstance(settings, Mapping) else {}
