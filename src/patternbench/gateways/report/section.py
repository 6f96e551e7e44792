"""The report's section on gateways: what they did by themselves, per scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.gateways.responses import RESPONSES
from patternbench.observe.section import Section, Table
from patternbench.report.sections.means import means_by_scenario

WORDS = (
    "What the gateways themselves did, by their own statistics: means over rounds, sums over gateways. A 429 from the "
    "service isn't counted here, but in the failures by cause. `export --table gateways` has each gateway, and the "
    "requests that each of its hosts got.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a gateway was in use in a round that counts; none otherwise."""
    means = means_by_scenario(path, rounds, RESPONSES)
    return [Section("gateways", "Gateways", WORDS, [Table("What gateways did", means)])] if len(means) else []
