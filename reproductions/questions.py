"""Single questions on a page, each asked by a study of its own, in its whole or its quick form.

Each is a comparison (``comparisons.py``) with the claims of its study, which are held against the rounds by the rule of
all claims. What was not measured says how to measure it, and how long that takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, ClaimText, parse_claim
from patternbench.records.folder import RunFolder
from patternbench.study.load import load
from reproductions import claimed
from reproductions.comparisons import Comparison, configurations
from reproductions.markdown import warned
from reproductions.pages import QUICK, STUDIES, Reader, Tables, not_measured, rounds_as


def answers(questions: Mapping[str, Comparison], measured: Tables) -> str:
    """Return each question with its tables and claims, or how to measure it."""
    return "\n\n".join(f"### {one.title}\n\n{_answer(one, measured.get(study))}" for study, one in questions.items())


def _answer(one: Comparison, rows: pd.DataFrame | None) -> str:
    if rows is None:
        shortened = bool(load(STUDIES / f"{one.study}.yaml").quick)
        return not_measured(f"{one.study}{QUICK}" if shortened else one.study)
    form = str(rows["study"].iloc[0])
    reported = f"Measured with [{form}](../../studies/{one.study}.yaml); blocks: {rows['block'].nunique()}."
    shown = replace(one, study=form)
    return "\n\n".join([reported, configurations(shown, rows), verdicts(shown, rows), warned(rows)])


def verdicts(one: Comparison, rows: pd.DataFrame) -> str:
    """Return the claims on a study, each held against its rounds."""
    every = [*counted(one), *claimed.claims(one.study)]
    return claimed.verdict_table(claimed.hold(every, claimed.planned(one.study), rows), "claim")


def counted(one: Comparison) -> list[Claim]:
    """Return the claims on columns that no response of a round tells: they stand with the question."""
    return [parse_claim(cast(ClaimText, claim.model_dump()), one.study) for claim in one.counted]


def readers(questions: Mapping[str, Comparison]) -> dict[str, Reader]:
    """Return how the rounds of each study are read: the responses that its question shows, with the form's name."""
    return {study: named(rounds_as(study, one.columns)) for study, one in questions.items()}


def named(reader: Reader) -> Reader:
    """Return a reader that adds the name of the study, which may be a quick form, to each table."""

    def read(run: RunFolder) -> dict[str, pd.DataFrame | str]:
        study, found = load(run.study).name, reader(run)
        return {name: kept if isinstance(kept, str) else kept.assign(study=study) for name, kept in found.items()}

    return read
