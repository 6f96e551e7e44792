"""Single questions on a page, each asked by a study of its own, in its whole or its quick form.

Each is a comparison (``comparisons.py``) with the claims of its study, which are held against the rounds by the rule of
all claims. What was not measured says how to measure it, and how long that takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from patternbench.records.folder import RunFolder
from patternbench.study.load import load
from reproductions import claimed
from reproductions.comparisons import Comparison, configurations
from reproductions.markdown import warned
from reproductions.pages import QUICK, Reader, Tables, measure_first, rounds_as

FROM_A_REPRODUCTION = "../../studies"
"""Where the studies are from the pages on published works."""


def answers(questions: Mapping[str, Comparison], measured: Tables, studies: str = FROM_A_REPRODUCTION) -> str:
    """Return each question with its tables and claims, or how to measure it; ``studies`` are there from the page."""
    asked = {one.title: answer(one, measured.get(study), studies) for study, one in questions.items()}
    return "\n\n".join(f"### {title}\n\n{answer}" for title, answer in asked.items())


def answer(one: Comparison, rows: pd.DataFrame | None, studies: str) -> str:
    """Return the tables and claims of a question, or how to measure it."""
    if rows is None:
        return measure_first(one.study)
    shown = replace(one, study=str(rows["study"].iloc[0]))
    parts = [measured_with(rows, studies), configurations(shown, rows), verdicts(shown, rows), warned(rows)]
    return "\n\n".join(filter(None, parts))


def measured_with(rows: pd.DataFrame, studies: str = FROM_A_REPRODUCTION) -> str:
    """Return the study that these rounds are of, which may be a quick form, and how many blocks of it there are."""
    study = str(rows["study"].iloc[0])
    file = f"{studies}/{study.removesuffix(QUICK)}.yaml"
    return f"Measured with [{study}]({file}); blocks: {rows['block'].nunique()}."


def verdicts(one: Comparison, rows: pd.DataFrame) -> str:
    """Return the claims on a study, each held against its rounds; first those that stand with the question.

    A study may claim nothing.
    """
    every = [*(claimed.parsed(claim, one.study) for claim in one.counted), *claimed.claims(one.study)]
    return (
        claimed.verdict_table(claimed.Measured(claimed.planned(one.study), rows).hold(every), "claim") if every else ""
    )


def readers(questions: Mapping[str, Comparison]) -> dict[str, Reader]:
    """Return how the rounds of each study are read: the responses that its question shows, with the form's name."""
    return {study: named(rounds_as(study, one.columns)) for study, one in questions.items()}


def named(reader: Reader) -> Reader:
    """Return a reader that adds the name of the study, which may be a quick form, to each table."""

    def read(run: RunFolder) -> dict[str, pd.DataFrame | str]:
        study, found = load(run.study).name, reader(run)
        return {name: kept if isinstance(kept, str) else kept.assign(study=study) for name, kept in found.items()}

    return read
