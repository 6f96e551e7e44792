"""The report's section on bundlers: what they saved and how long requests waited for it, for each scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.bundlers.responses import RESPONSES
from patternbench.observe.section import Section, Table
from patternbench.report.sections.means import means_by_scenario

WORDS = (
    "What the bundlers did, by their own counts: means over rounds, of all bundlers together. A request that no other "
    "joined also waited, but saved no call. A full bundle asks for as many different things as it may. Other bundles "
    "were sent when the wait of their first request was over. `export --table bundlers` has each bundler.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a bundler was in use in a round that counts; none otherwise."""
    means = means_by_scenario(path, rounds, RESPONSES)
    return [Section("bundlers", "Bundlers", WORDS, [Table("What bundlers did", means)])] if len(means) else []
