"""What observers say of each scenario in numbers alone: a table of means over its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.report.labels import shown
from patternbench.report.model import counting
from patternbench.report.sections.steps import scenario_name
from patternbench.terms.responses import Response


def means_by_scenario(path: Path, rounds: pd.DataFrame, responses: Sequence[Response]) -> pd.DataFrame:
    """Return a row per scenario of a run's folder with the means of responses over its rounds that count, in words.

    ``rounds`` has the columns of contracts/records. A scenario without any of the responses has no row.
    """
    measured = [response for response in responses if response.name in rounds]
    if not measured:
        return pd.DataFrame()
    of_rounds = counting(rounds).groupby("scenario")[[response.name for response in measured]]
    means = of_rounds.mean().dropna(how="all").to_dict("index")
    rows = [
        {
            "scenario": scenario_name(one.levels),
            **{response.title: shown(means[one.id][response.name], response.kind) for response in measured},
        }
        for one in stored.plan(RunFolder(path)).scenarios
        if one.id in means
    ]
    return pd.DataFrame(rows)
