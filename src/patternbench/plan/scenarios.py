"""A scenario: one combination of levels, named by what it is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from patternbench.study.units import Duration

Level = str | int | float | bool | None


@dataclass(frozen=True)
class Scenario:
    """One treatment: its levels, and the whole configuration that they complete.

    ``config`` is nested plain data in which durations are still ``Duration``; ``levels`` is what varies in this study.
    """

    id: str
    levels: dict[str, Level]
    config: dict[str, Any]

    @property
    def client(self) -> str:
        """The client whose strategy is measured."""
        return str(self.config["client"])

    @property
    def strategy(self) -> str:
        """The kind of strategy: baseline, retry, circuit_breaker, or what a stack is known by."""
        return strategy_name(self.config["strategy"])

    def as_json(self) -> dict[str, Any]:
        """The scenario as plain data, durations written with their units."""
        return {"id": self.id, "levels": self.levels, "config": plain(self.config)}


def strategy_name(strategy: dict[str, Any]) -> str:
    """What a strategy is known by: its kind; of a stack its own name, or its policies from the outside in."""
    stack = strategy.get("stack")
    return strategy.get("name") or "+".join(next(iter(policy)) for policy in stack) if stack else next(iter(strategy))


def plain(node: Any) -> Any:
    """The same tree with every duration written as text."""
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [plain(value) for value in node]
    return str(node) if isinstance(node, Duration) else node


def content_id(config: dict[str, Any]) -> str:
    """Twelve hex digits that any change of any level changes, and nothing else does."""
    text = json.dumps(plain(config), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
