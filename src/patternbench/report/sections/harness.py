"""The report's section on what clients cost by themselves, where a run compares several.

A client is a harness with a resilience library in it. Rounds without a pattern measure the harness alone, on the
machine and under the load of the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import BaseModel, ValidationError

from patternbench.observe.section import Section, Table
from patternbench.terms.quantities import number

_WORDS = (
    "Every attempt of a client also pays for its harness: its language, its HTTP library, its rows. This table has the "
    "CPU time per attempt in rounds without a pattern, where the library does nothing. A difference between clients "
    "contains the difference between their harnesses; what a pattern changes within one client doesn't. If the load "
    "engine drives `native`, the CPU time of its warm-up counts too."
)
_BASELINE = "baseline"
_NEEDED = {"client", "strategy", "generator_cpu_s", "TotalRequests"}
_FEWEST = 2
_US_PER_S = 1e6


class _SelfDescription(BaseModel):
    """What a client says of itself, as far as it is shown."""

    language: str = ""


def sections(clients: Mapping[str, object], rounds: pd.DataFrame) -> Sequence[Section]:
    """Return the section, if several clients have rounds without a pattern; else none.

    ``clients`` has what each says of itself, by its name. ``rounds`` are those that count.
    """
    costs = costs_us(rounds)
    if costs["client"].nunique() < _FEWEST:
        return []
    rows = [
        {
            "client": name,
            "runtime": _runtime(clients.get(str(name))),
            "CPU time per attempt, us": _span(of_client["cpu_us"]),
            "rounds": len(of_client),
        }
        for name, of_client in costs.groupby("client")
    ]
    table = Table(
        "CPU time of each client without a pattern: median over rounds (least to greatest)", pd.DataFrame(rows)
    )
    return [Section("harness", "What each client costs by itself", [_WORDS], [table])]


def costs_us(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return a row per round without a pattern: ``client``, and ``cpu_us`` per attempt."""
    if not set(rounds.columns) >= _NEEDED:
        return pd.DataFrame(columns=["client", "cpu_us"])
    plain = rounds[(rounds["strategy"] == _BASELINE) & (rounds["TotalRequests"] > 0)]
    per_attempt = plain["generator_cpu_s"] / plain["TotalRequests"] * _US_PER_S
    return pd.DataFrame({"client": plain["client"], "cpu_us": per_attempt}).dropna()


def _runtime(stated: object) -> str:
    try:
        return _SelfDescription.model_validate(stated).language
    except ValidationError:
        return ""


def _span(values: pd.Series[float]) -> str:
    middle, least, most = (number(value) for value in (values.median(), values.min(), values.max()))
    return f"{middle} ({least} to {most})"
