"""The two runs of a comparison: which they are, and how their studies and manifests differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from patternbench.plan.factors import factor_name
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.records.stored import RunPlan
from patternbench.report.labels import level_text
from patternbench.terms.data_problems import plural

NOTED = ("patternbench", "engine", "envoy", "git_commit", "seed", "objective_s", "machine")
"""Fields of a manifest that may explain a difference."""
ALWAYS = "machine load_at_start"
"""A field that differs between any two runs."""
SHOWN = 8


def about(a: Path, b: Path) -> list[str]:
    """Name the two, and list what differs between their scenarios and their manifests. A table is only named."""
    names = [f"A is {a}, B is {b}."]
    if not all((folder / "plan.json").is_file() and (folder / "manifest.json").is_file() for folder in (a, b)):
        return names
    differences = [*_settings(a, b), *_circumstances(a, b)]
    more = f"; and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    stated = (
        f"They differ in {'; '.join(differences[:SHOWN])}{more}."
        if differences
        else "Their settings and machines are the same."
    )
    return [*names, stated]


def warnings_of(name: str, rounds: pd.DataFrame) -> list[str]:
    """How many rounds of a table carry which warnings, the most frequent first."""
    if "warnings" not in rounds:
        return []
    kinds = Counter(kind for text in rounds["warnings"].dropna() for kind in _kinds(str(text)))
    reported = ", ".join(f"{kind} in {count}" for kind, count in kinds.most_common())
    return [f"Warnings of {name}, of {plural(len(rounds), 'round')}: {reported}."] if reported else []


def _kinds(text: str) -> set[str]:
    """Return the kinds of a round's warnings; none where they can't be read."""
    try:
        listed = json.loads(text)
    except ValueError:
        return set()
    return {str(one["kind"]) for one in listed if isinstance(one, dict) and "kind" in one}


def _settings(a: Path, b: Path) -> Iterator[str]:
    """Fields whose levels are not the same in both runs, faults and settings among them."""
    ours, theirs = (_levels(stored.plan(RunFolder(folder))) for folder in (a, b))
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) != theirs.get(name):
            yield f"{name}: {_listed(ours.get(name))} in A, {_listed(theirs.get(name))} in B"


def _levels(plan: RunPlan) -> dict[str, list[object]]:
    levels_of_factors: dict[str, list[object]] = {}
    for scenario in plan.scenarios:
        for path, value in _leaves(scenario.config.model_dump(exclude_unset=True)):
            levels = levels_of_factors.setdefault(factor_name(path), [])
            if value not in levels:
                levels.append(value)
    return levels_of_factors


def _leaves(node: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value of a stored configuration with its path."""
    if isinstance(node, dict | list):
        for key, part in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _leaves(part, (*path, str(key)))
    else:
        yield path, node


def _listed(levels: list[object] | None) -> str:
    return "none" if levels is None else ", ".join(map(level_text, levels))


def _circumstances(a: Path, b: Path) -> Iterator[str]:
    ours, theirs = (stored.manifest(RunFolder(folder)) for folder in (a, b))
    for name in NOTED:
        mine, other = (dict(_flat(name, getattr(noted, name))) for noted in (ours, theirs))
        for path in dict.fromkeys([*mine, *other]):
            if path != ALWAYS and mine.get(path) != other.get(path):
                yield f"{path.replace('_', ' ')}: {mine.get(path)} in A, {other.get(path)} in B"


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(f"{name} {key}", part)
    else:
        yield name, value
