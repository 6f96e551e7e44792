"""The goodput that a fault cost, which needs the undisturbed round of the same block."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from patternbench.plan.scenarios import Scenario, content_id
from patternbench.records.stored import PlannedScenario
from patternbench.recovery.analyze.lost import goodput_lost
from patternbench.recovery.responses import LOST, SINCE
from patternbench.study.faults import Fault


def across(rounds: pd.DataFrame, scenarios: Sequence[PlannedScenario]) -> pd.DataFrame:
    """Return the rounds with what each lost of the goodput of the undisturbed round in its block, in percent.

    An undisturbed round has the same levels of everything but faults, and no fault acts in it. NaN without one.
    """
    if SINCE.name not in rounds:
        return rounds
    undisturbed = {one.id: one.length_s for one in scenarios if one.length_s and not _is_disturbed(one)}
    lost = goodput_lost(rounds, SINCE.name, undisturbed, {one.id: _but_faults(one) for one in scenarios})
    return rounds if lost is None else rounds.assign(**{LOST.name: lost})


def _is_disturbed(one: PlannedScenario) -> bool:
    faults: tuple[Fault, ...] = Scenario.of(one.config, one.levels).faults
    return any(fault.acts for fault in faults)


def _but_faults(one: PlannedScenario) -> str:
    """Return what a scenario shares with those that differ in their faults alone."""
    return content_id({**one.config.model_dump(), "faults": {}})
