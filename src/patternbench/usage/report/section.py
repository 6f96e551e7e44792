"""The report's section on usage: CPU time and memory of the components that the study names, for each scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.observe.section import Section, Table
from patternbench.report.sections.means import means_by_scenario
from patternbench.usage.responses import names_in, responses

WORDS = (
    "CPU seconds that components took from the beginning of the load to its end, warm-up included, and their memory "
    "after it: means over rounds. Memory that processes share counts in each by its part. `export --table usage` has "
    "each component.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a study asks for the usage of some components; none otherwise."""
    means = means_by_scenario(path, rounds, responses(names_in(map(str, rounds))))
    return [Section("usage", "CPU time and memory", WORDS, [Table("By components", means)])] if len(means) else []
