"""The report's section on recovery: how rounds went on after a fault, per scenario."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.observe.section import Section, Table
from patternbench.recovery.responses import RESPONSES
from patternbench.report.sections.means import means_by_scenario

WORDS = (
    "How rounds went on after the fault's measured end. A call is as before when it succeeded and took at most three "
    "times what 95 of 100 good ones took before the fault. A second is disturbed when fewer than four fifths as many "
    "of its calls were as before as usual. A round has recovered when its last second is not disturbed. The recovery "
    "time is a restricted mean: a round that did not recover counts with all the time that was left, so that it is too "
    "short wherever not all rounds recovered.",
)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a fault ended within a round that counts; none otherwise."""
    means = means_by_scenario(path, rounds, RESPONSES)
    return [Section("recovery", "Recovery", WORDS, [Table("How rounds went on", means)])] if len(means) else []
