"""What the attempts of a run's rounds come to: the one place that knows what a round's responses also depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from patternbench.analyze.blocks import Blocks
from patternbench.analyze.metrics import RoundSummary, step_metrics, summary_of
from patternbench.records import stored
from patternbench.records.folder import RunFolder


@dataclass(frozen=True)
class MeasurementTerms:
    """The objective of a run in seconds, and how many seconds a round of a scenario offers calls, if declared."""

    objective_s: float
    length_s: float | None

    @classmethod
    def by_scenario(cls, run: RunFolder) -> dict[str, MeasurementTerms]:
        """As the run's own files say, so that a run of before keeps its numbers."""
        objective_s = stored.manifest(run).objective_s or math.inf
        return {scenario.id: cls(objective_s, scenario.length_s) for scenario in stored.plan(run).scenarios}

    def summary(self, attempts: pd.DataFrame | Blocks) -> RoundSummary:
        """Return the responses of a round, and its curves."""
        return summary_of(attempts, self.objective_s, self.length_s)

    def steps(self, attempts: pd.DataFrame | Blocks, whole: RoundSummary) -> pd.DataFrame:
        """Return the responses of each step of a round, whose own summary is known already."""
        return step_metrics(attempts, self.objective_s, self.length_s, whole)
