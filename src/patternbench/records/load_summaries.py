"""What the load engine said of the rounds that it drove (contracts/load): summaries beside the attempts."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from patternbench.records.folder import RunFolder

SUMMARY = "summary.json"


def acted(run: RunFolder, round_name: str) -> list[dict[str, Any]]:
    """How often each policy of a round's stack acted, outermost first: ``policy``, ``acted``.

    Empty for a round without a stack, or that the engine did not drive to its end.
    """
    with suppress(OSError, ValueError, RecursionError):
        summary = json.loads((run.load / round_name / SUMMARY).read_text(encoding="utf-8"))
        found = summary.get("policies") if isinstance(summary, dict) else None
        return [each for each in found or [] if {"policy", "acted"} <= set(each)]
    return []
