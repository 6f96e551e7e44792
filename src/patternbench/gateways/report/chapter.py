"""The report's section on gateways: what they did of their own, for each scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.gateways.observer import RESPONSES
from patternbench.observe.section import Section, Table
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.report.labels import number
from patternbench.report.model import counting
from patternbench.report.sections.steps import scenario_name

WORDS = (
    "What the gateways did of their own, by their statistics: means over rounds, sums over gateways. A 429 of the "
    "service is in the failures by cause and not here; `export --table gateways` has each gateway, and what each of "
    "its hosts got.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """The section, where a gateway was in use in a round that counts; none otherwise."""
    titles = {response.name: response.title for response in RESPONSES if response.name in rounds}
    if not titles:
        return []
    means = counting(rounds).groupby("scenario")[list(titles)].mean().dropna(how="all").to_dict("index")
    names = {one.id: scenario_name(one.levels) for one in stored.plan(RunFolder(path)).scenarios}
    rows = [
        {"scenario": name, **{title: number(means[scenario][column]) for column, title in titles.items()}}
        for scenario, name in names.items()
        if scenario in means
    ]
    return [Section("gateways", "Gateways", WORDS, [Table("What gateways did", pd.DataFrame(rows))])] if rows else []
