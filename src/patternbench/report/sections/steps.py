"""The report's section on steps and groups of users, for studies that have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.analyze.metrics import STEP_RESPONSES
from patternbench.observe.section import Section, Table
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import RESPONSES, factor_title, level_text, shown

_KEYS = ["scenario", "group", "step"]
_WORDS = "Medians over rounds. Each call counts for its step. A step that polls until an answer comes makes one call."


def sections(steps: pd.DataFrame, scenarios: Sequence[PlannedScenario]) -> list[Section]:
    """Return the section, if a scenario has more than one step or group; else none.

    ``steps`` has the columns of ``steps.parquet``; ``scenarios`` are those of the plan.
    """
    if steps.empty or len(steps[["group", "step"]].drop_duplicates()) <= 1:
        return []
    return [Section("steps", "Steps", [_WORDS], [Table("Every step of every scenario", _table(steps, scenarios))])]


def _table(steps: pd.DataFrame, scenarios: Sequence[PlannedScenario]) -> pd.DataFrame:
    measured = ["calls_per_s", *STEP_RESPONSES]
    medians = steps.groupby(_KEYS, sort=False, observed=True)[measured].median().reset_index()
    order = {scenario.id: position for position, scenario in enumerate(scenarios)}
    medians = medians.sort_values("scenario", key=lambda column: column.map(order), kind="stable")
    names = {scenario.id: scenario_name(scenario.levels) for scenario in scenarios}
    reported: dict[str, object] = {
        "scenario": medians["scenario"].map(names),
        "group": medians["group"],
        "step": medians["step"],
    }
    reported["calls per second"] = [shown(value, "rate") for value in medians["calls_per_s"]]
    reported |= {
        RESPONSES[name].title: [shown(v, RESPONSES[name].kind) for v in medians[name]] for name in STEP_RESPONSES
    }
    return pd.DataFrame(reported)


def scenario_name(levels: Mapping[str, object]) -> str:
    """Return a scenario in words: its strategy and what else varies."""
    varied = {name: level for name, level in levels.items() if name not in ("client", "strategy")}
    words = [f"{factor_title(name)} {level_text(level)}" for name, level in varied.items()]
    return ", ".join([f"{levels.get('client')} {levels.get('strategy')}", *words])
