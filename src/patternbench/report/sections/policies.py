"""The report's section on policies: how often each policy of a stack acted."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from patternbench.observe.section import Section, Table
from patternbench.records import damage, load_summaries
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import shown
from patternbench.report.sections.steps import scenario_name

_WORDS = (
    "Policies in their order, the outermost first. Counts are medians over rounds, with the warm-up. A timeout or "
    "a deadline acts when it ends a call or an attempt. A retry or a hedge acts when it sends a further attempt. Any "
    "other policy acts when it rejects a call."
)
_KEYS = ["scenario", "place", "policy"]


def sections(run: RunFolder, scenarios: Sequence[PlannedScenario], rounds: pd.DataFrame) -> list[Section]:
    """Return the section, if a round had policies; else none. ``rounds`` are those that count."""
    files = damage.files_of_rounds(run)
    done = zip(rounds["scenario"], rounds["round"], strict=True)
    acted = pd.DataFrame([row for scenario, number in done for row in _rows(run, scenario, files[number])])
    if acted.empty:
        return []
    return [Section("policies", "Policies", [_WORDS], [Table("How often each policy acted", _table(acted, scenarios))])]


def _rows(run: RunFolder, scenario: str, file: str) -> list[dict[str, object]]:
    """Return a row per policy of a round."""
    stated = load_summaries.acted(run, file)
    return [
        {
            "scenario": scenario,
            "place": position,
            "policy": one.policy,
            "acted": float(one.acted),
        }
        for position, one in enumerate(stated)
    ]


def _table(acted: pd.DataFrame, scenarios: Sequence[PlannedScenario]) -> pd.DataFrame:
    medians = acted.groupby(_KEYS, sort=False)["acted"].median().reset_index()
    order = {scenario.id: position for position, scenario in enumerate(scenarios)}
    medians["order"] = medians["scenario"].map(order)
    medians = medians.sort_values(["order", "place"], kind="stable")
    names = {scenario.id: scenario_name(scenario.levels) for scenario in scenarios}
    return pd.DataFrame(
        {
            "scenario": medians["scenario"].map(names),
            "policy": medians["policy"].str.replace("_", " "),
            "acted in a round": [shown(value, "count") for value in medians["acted"]],
        }
    )
