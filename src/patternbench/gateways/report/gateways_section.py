"""The report's section on gateways: what they did of their own, for each scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.gateways.observer import RESPONSES
from patternbench.observe.section import Section, Table
from patternbench.report.sections.means import means_by_scenario

WORDS = (
    "What the gateways did of their own, by their statistics: means over rounds, sums over gateways. A 429 of the "
    "service is in the failures by cause and not here; `export --table gateways` has each gateway, and what each of "
    "its hosts got.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """The section, where a gateway was in use in a round that counts; none otherwise."""
    means = means_by_scenario(path, rounds, RESPONSES)
    return [Section("gateways", "Gateways", WORDS, [Table("What gateways did", means)])] if len(means) else []
