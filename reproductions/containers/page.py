"""The measured parts of containers.md: rounds and claims of its study, and how long the starts before them took."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from reproductions import comparisons
from reproductions.comparisons import FIGURE, SHORT, Comparison
from reproductions.markdown import spread, table
from reproductions.pages import QUICK, Page, Parts, Tables, not_measured, rounds_as

STUDY, FILE = "containers", "containers.md"
ROUNDS, STARTS = "rounds", "starts"
"""The tables that are kept: the rounds that count, and each start of the service before one of them."""
SERVICE = "pictures"
COMPARED = comparisons.read("containers/compared.yaml")[STUDY]


def read(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return what is kept of a run."""
    return {**rounds_as(ROUNDS, COMPARED.columns)(run), STARTS: starts(damage.recorded(run))}


def starts(entries: Iterable[Entry]) -> pd.DataFrame:
    """Return how many seconds each start of the service took, with the scenario that it was started for."""
    rows = [
        (entry.block, entry.scenario, start.seconds)
        for entry in entries
        for start in entry.starts
        if entry.counts and start.component == SERVICE
    ]
    return pd.DataFrame(rows, columns=["block", "scenario", "seconds"])


def parts(measured: Tables) -> Parts:
    """Return the parts of the page."""
    if ROUNDS not in measured:
        return {FILE: {SHORT: not_measured(f"{STUDY}{QUICK}"), COMPARED.mark: "", STARTS: ""}}
    rounds = measured[ROUNDS]
    form = comparisons.form_of(COMPARED, rounds)
    short = f"{in_form(form, rounds)}\n\n{comparisons.in_short(STUDY, {STUDY: rounds}, {STUDY: form})}"
    whole = comparisons.part(form, rounds)
    return {FILE: {SHORT: short, COMPARED.mark: whole, STARTS: start_table(form, measured[STARTS])}}


def in_form(form: Comparison, rounds: pd.DataFrame) -> str:
    """Return a sentence that says which form of the study was measured, and how many blocks of it."""
    quick = " in its quick form" if form.study.endswith(QUICK) else ""
    return f"Measured with [containers](../studies/{STUDY}.yaml){quick}; blocks: {rounds['block'].nunique()}."


def start_table(form: Comparison, every: pd.DataFrame) -> str:
    """Return a row for each condition and configuration of which there are starts: how many, and how long they took."""
    taken = dict(iter(every.groupby("scenario")["seconds"]))
    rows = ([*words, len(taken[name]), spread(taken[name])] for name, words in form.names.items() if name in taken)
    return table([form.condition_is, "configuration", "starts", "seconds until it is ready"], rows)


def figures(measured: Tables) -> dict[str, str]:
    """Return the figure of the main claims."""
    if ROUNDS not in measured:
        return {}
    rounds = measured[ROUNDS]
    return {FIGURE: comparisons.drawn({STUDY: rounds}, {STUDY: comparisons.form_of(COMPARED, rounds)})}


PAGE = Page(FILE, {STUDY: read}, parts, figures)
