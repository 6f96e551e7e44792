"""The report's section on usage: CPU time and memory of the components that the study names, for each scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.observe.section import Section, Table
from patternbench.report.sections.means import means_by_scenario
from patternbench.usage.responses import THROTTLED, names_in, responses

WORDS = (
    "CPU seconds that components took from the beginning of the load to its end, warm-up included, and their memory "
    "after it: means over rounds. Memory that processes share counts in each by its part. `export --table usage` has "
    "each component. The memory of a container is that of its control group, without copies of files that the kernel "
    "would drop first; it is throttled while its processes wait because its CPU time is used up.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a study asks for the usage of some components; none otherwise."""
    columns = list(map(str, rounds))
    means = means_by_scenario(path, rounds, responses(names_in(columns), names_in(columns, THROTTLED)))
    return [Section("usage", "CPU time and memory", WORDS, [Table("By components", means)])] if len(means) else []
