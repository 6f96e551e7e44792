"""Single questions, each asked by a study of its own: what the paper leaves open, and what it says without numbers.

Each study is a comparison (left_open.yaml, sensitivity.yaml). On the shop most compare what groups of users get: a
column such as ``shoppers.goodput`` is a response of one group alone, from the round's attempts.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patternbench.analyze.metrics import round_metrics, summary_of
from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table
from reproductions.comparisons import Comparison, read
from reproductions.pages import Reader
from reproductions.questions import named, readers

QUESTIONS = read("kalyanasundaram_2025/left_open.yaml")
SENSITIVITY = read("kalyanasundaram_2025/sensitivity.yaml")
"""What each study asks, in the order of the page."""


def of_groups(rows: pd.DataFrame) -> dict[str, float]:
    """Return the responses of each group of users in a round, such as ``shoppers.goodput``; rates are of all of it."""
    span, parts = summary_of(rows).span, rows.groupby(rows["group"].astype(str))
    return {
        f"{group}.{name}": value for group, part in parts for name, value in round_metrics(part, length_s=span).items()
    }


def by_group(one: Comparison) -> Reader:
    """Return a reader of a study's rounds, with what is asked of each group."""

    def reader(run: RunFolder) -> dict[str, pd.DataFrame]:
        rounds, files = read_table(run.path), damage.files_of_rounds(run)
        own = [of_groups(attempts.read(run.attempts_of(files[number]))) for number in rounds["round"]]
        both = pd.concat([rounds, pd.DataFrame(own, index=rounds.index)], axis=1)
        return {one.study: both[[name for name in one.columns if name in both]]}

    return reader


READERS: Mapping[str, Reader] = {
    **readers(QUESTIONS),
    **readers(SENSITIVITY),
    **{study: named(by_group(one)) for study, one in QUESTIONS.items() if one.counted},
}
"""By the names of studies."""
