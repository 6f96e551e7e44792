"""The warning that what a system keeps grows over the rounds: stored with the rounds of the last block."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from patternbench.analyze.growth import StateGrowth, grown
from patternbench.observe.warning import RoundWarning
from patternbench.records.journal import DONE, Entry

KIND = "state_grows"
RESET = "write `reset: restart` in {} of the system file, or a call or command that empties it"
CALLS: Mapping[str, str] = {
    "database_calls": "calls of databases per request",
    "distributed_calls": "calls of other services per request",
    "in_memory_calls": "in-memory calls per request",
}
"""Responses that are the same in every round of a scenario, unless what is stored differs."""
FILES = "files of "
"""How the amounts of components begin."""
UNITS = ("bytes", "kB", "MB", "GB", "TB")
STEP = 1000


def marked(rounds: pd.DataFrame, entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the table of rounds, with the warning at those of the last block if something grows over the blocks."""
    if rounds.empty:
        return rounds
    found = [warning(growth) for growth in grown(_amounts(rounds, entries))]
    if not found:
        return rounds
    last = rounds["block"] == rounds["block"].max()
    before = [cell if isinstance(cell, str) else None for cell in rounds["warnings"]]
    cells = [_and_these(cell, found) if late else cell for cell, late in zip(before, last, strict=True)]
    return rounds.assign(warnings=pd.Series(cells, index=rounds.index, dtype=object))


def warning(growth: StateGrowth) -> RoundWarning:
    """Return the warning about an amount that grows."""
    show = size if growth.name.startswith(FILES) else "{:,.3g}".format
    text = f"{growth.name} grew from {show(growth.first)} to {show(growth.last)} over {growth.blocks} blocks of rounds"
    _, of_files, component = growth.name.partition(FILES)
    where = f"the entry of `{component}`" if of_files else "the entry of what stores between rounds"
    return RoundWarning(KIND, f"{text}, so later rounds met more state than earlier ones", RESET.format(where))


def sentences(rounds: pd.DataFrame) -> list[str]:
    """Return the warnings of this kind in a table of rounds, each once, with its remedy."""
    reported = [one for cell in rounds["warnings"] if isinstance(cell, str) for one in json.loads(cell)]
    return list(dict.fromkeys(f"{one['message']}; {one['remedy']}" for one in reported if one.get("kind") == KIND))


def size(count: float) -> str:
    """Return a number of bytes in the unit that a reader can take in: ``1.2 MB``."""
    for unit in UNITS[:-1]:
        if count < STEP:
            return f"{count:.3g} {unit}"
        count /= STEP
    return f"{count:,.3g} {UNITS[-1]}"


def _amounts(rounds: pd.DataFrame, entries: Sequence[Entry]) -> dict[str, pd.DataFrame]:
    """Return the amounts that may grow, by the name that a reader knows: a row per round that counts."""
    counts = [entry.counts and entry.status == DONE for entry in entries]
    calls = {CALLS[name]: rounds[name] for name in CALLS if name in rounds.columns}
    names = dict.fromkeys(name for entry in entries for name in entry.stored_bytes)
    stored = {f"{FILES}{name}": pd.Series(_sizes(entries, name), index=rounds.index) for name in names}
    places = rounds[["block", "scenario"]]
    return {name: places.assign(value=values.astype(float))[counts] for name, values in (calls | stored).items()}


def _sizes(entries: Sequence[Entry], name: str) -> list[float]:
    """Return the bytes of a component's files after each round; NaN where they were not measured."""
    return [float(entry.stored_bytes.get(name, "nan")) for entry in entries]


def _and_these(cell: str | None, warnings: Sequence[RoundWarning]) -> str:
    before = json.loads(cell) if cell else []
    return json.dumps([*before, *(asdict(one) for one in warnings)])
