"""Overloads that do not end: studies that compare callers under a trigger, and studies that search a boundary."""

from __future__ import annotations

import pandas as pd

from patternbench.analyze.boundary.words import boundary_in_words
from patternbench.report.boundaries import Margins, margins
from patternbench.report.held_rounds import condition
from patternbench.report.sections import boundary
from patternbench.study.load import load
from reproductions import comparisons
from reproductions.comparisons import FROM_A_PAGE, read
from reproductions.markdown import table, warned
from reproductions.pages import STUDIES, Page, Parts, Reader, Tables, measure_first, plan_of, rounds_as

FILE = "metastable.md"
KNOWN, KNOWN_PAGE = "known-queue", "margin.md"
"""The study of a queue whose edge a Markov chain says, and the page that shows how near the search comes."""
CHAIN = 19.9
"""Calls per second at which half of the rounds of that queue recover, by its chain (tests/support/retry_queue.py)."""
COMPARED = read("metastable.yaml")
SEARCHED = sorted(path.stem for path in STUDIES.glob("metastable-*.yaml") if path.stem not in COMPARED)
"""The studies that search the edge itself; what they vary is in their files."""


def searched(study: str, rounds: pd.DataFrame | None) -> str:
    """Return where the edge of each configuration of a study is, and what became of what it expected."""
    if rounds is None:
        return measure_first(study)
    found = found_in(rounds)
    sentences = [f"- {boundary.margin_in_words(one, found, boundary.wording(found))}" for one in found.searched]
    shown = ((one.frame, one.note) for one in (boundary.edges(found), *boundary.expected(found)))
    tables = [f"{table(list(rows.columns), rows.itertuples(index=False))}\n\n{note}" for rows, note in shown]
    return "\n\n".join([comparisons.measured_with(rounds, FROM_A_PAGE), "\n".join(sentences), *tables, warned(rounds)])


def found_in(rounds: pd.DataFrame) -> Margins:
    """Return what the rounds of a search, in its whole or its quick form, say of the edge."""
    name = str(rounds["study"].iloc[0])
    study = load(STUDIES / f"{name}.yaml")
    if study.boundary is None:
        raise TypeError(f"{name} searches no boundary")
    return margins(rounds, plan_of(name), study, study.boundary)


def parts(measured: Tables) -> Parts:
    """Return what each study says, or how to measure it."""
    compared = {study: comparisons.answer(one, measured.get(study), FROM_A_PAGE) for study, one in COMPARED.items()}
    edges = {study: searched(study, measured.get(study)) for study in SEARCHED}
    return {FILE: {**compared, **edges}, KNOWN_PAGE: {KNOWN: held_against_chain(measured.get(KNOWN))}}


def held_against_chain(rounds: pd.DataFrame | None) -> str:
    """Return where each search found the edge of the queue, and whether its interval holds that of the chain."""
    if rounds is None:
        return measure_first(KNOWN)
    found = found_in(rounds)
    words = boundary.wording(found)
    rows = (
        [place, boundary_in_words(one.answer, words), one.answer.rounds, "yes" if at and at.holds(CHAIN) else "no"]
        for place, one in enumerate(found.searched, start=1)
        for at in [one.answer.boundary]
    )
    heads = ["search", "boundary", "rounds", f"holds {words.dose(CHAIN)}, the chain's"]
    return "\n\n".join(filter(None, [table(heads, rows), warned(rounds)]))


def _outcomes(study: str) -> Reader:
    """Return a reader of the rounds of a search: their order, and what says whether a round was held."""
    found = load(STUDIES / f"{study}.yaml").boundary
    response = condition(found.of).response if found else ""
    return rounds_as(study, ["block", "round", "scenario", "strategy", response, "warnings"])


READERS = {**comparisons.readers(COMPARED), **{study: _outcomes(study) for study in (*SEARCHED, KNOWN)}}
PAGE = Page(FILE, READERS, parts, lambda _: {})
