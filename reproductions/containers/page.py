"""The measured parts of containers.md: rounds and claims of its study, and how long the starts before them took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from reproductions import comparisons
from reproductions.comparisons import FROM_A_PAGE, SHORT, Comparison
from reproductions.markdown import spread, table
from reproductions.pages import Parts, Tables

STUDY, STARTS = "containers", "starts"
"""The tables that are kept: the rounds of the study that count, and each start of the service before one of them."""
SERVICE = "pictures"
COMPARED = comparisons.read("containers/compared.yaml")[STUDY]
COMPARING = comparisons.page(STUDY, "containers/compared.yaml")
"""The page without the starts."""


def read(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return what is kept of a run."""
    return {**COMPARING.readers[STUDY](run), STARTS: starts(damage.recorded(run))}


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
    own = {**COMPARING.parts(measured)[COMPARING.name], STARTS: ""}
    if STUDY in measured:
        form = comparisons.form_of(COMPARED, measured[STUDY])
        begin = comparisons.measured_with(measured[STUDY].assign(study=form.study), FROM_A_PAGE)
        own |= {SHORT: f"{begin}\n\n{own[SHORT]}", STARTS: start_table(form, measured[STARTS])}
    return {COMPARING.name: own}


def start_table(form: Comparison, every: pd.DataFrame) -> str:
    """Return a row for each condition and configuration of which there are starts: how many, and how long they took."""
    taken = dict(iter(every.groupby("scenario")["seconds"]))
    rows = ([*words, len(taken[name]), spread(taken[name])] for name, words in form.names.items() if name in taken)
    return table([form.condition_is, "configuration", "starts", "seconds until it is ready"], rows)


PAGE = replace(COMPARING, readers={STUDY: read}, parts=parts)
