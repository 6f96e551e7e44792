"""The optimal region of measured combinations, and which one to choose: sections IV and VIII-B of the paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from patternbench.analyze.recommend.recommendation import Candidate, Choice, Criteria, recommend
from patternbench.observe.section import Spec
from patternbench.report.pages.comparison_figures import trade_off_figure
from patternbench.terms.quantities import number
from reproductions.elmalki_zdun_2023.combined_rounds import NO_LIMIT
from reproductions.markdown import table

PATTERNS = ("load_balancing", "request_bundle", "rate_limit")
RESPONSES = ("total_time", "failure_rate", "items_per_s")
QUESTIONS = {
    "as in the paper: time, then failures": Criteria(
        ("minimise total_time", "minimise failure_rate"), conditions=(), by=PATTERNS
    ),
    "items per second, of those that fail at most 1 %": Criteria(
        ("maximise items_per_s", "minimise failure_rate"), ("failure_rate <= 1%",), conditions=(), by=PATTERNS
    ),
}


def combined(rows: pd.DataFrame, users: int) -> pd.DataFrame:
    """Return each combination of patterns in each block, as a mean over sizes."""
    own = rows[rows["api_users"] == users].dropna(subset=list(RESPONSES))
    return own.groupby([*PATTERNS, "block"])[list(RESPONSES)].mean().reset_index()


def choices(rows: pd.DataFrame, users: int) -> dict[str, Choice]:
    """Return the choice for each question."""
    averaged = combined(rows, users)
    return {question: recommend(averaged, criteria).choices[0] for question, criteria in QUESTIONS.items()}


def printed(rows: pd.DataFrame, users: int) -> dict[str, str]:
    """Return the choice for each question, and the optimal region, by the names of their marks."""
    heads = ["what counts", "configuration", "total time, ms", "failed calls, %", "items per second"]
    averaged = combined(rows, users).groupby(list(PATTERNS))[list(RESPONSES)].mean().reset_index()
    found = choices(rows, users)
    lines = (line for question, choice in found.items() for line in _lines(question, choice, averaged))
    reported = (f"- {question}: {_chosen(choice)}" for question, choice in found.items())
    return {"choice": "\n".join(reported), "region": table(heads, lines)}


def _lines(question: str, choice: Choice, averaged: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row for each combination of the optimal region; the choice is printed bold."""
    for one in choice.candidates:
        if one.on_front and one.feasible:
            own = (averaged[name] == one.scenario.levels[name] for name in PATTERNS)
            numbers = averaged[np.logical_and.reduce([*own])][list(RESPONSES)].to_numpy(dtype=float)[0]
            name = f"**{_named(one)}**" if one is choice.chosen else _named(one)
            yield [question, name, *map(number, numbers)]


def _chosen(choice: Choice) -> str:
    """Return the choice in a sentence; of many that can't be told apart only how many they are."""
    if choice.verdict != "tie" or choice.chosen is None:
        return choice.text
    return f"a tie of {len(choice.ties)} combinations, of which {_named(choice.chosen)} is the choice."


def _named(one: Candidate) -> str:
    balancing, bundle, limit = (one.scenario.levels[name] for name in PATTERNS)
    words = ("bundles" if bundle == "Y" else "single requests", "two instances" if balancing == "Y" else "one instance")
    return ", ".join([*words, "no limit" if limit == NO_LIMIT else f"limit {limit:g}"])


def figure(rows: pd.DataFrame, users: int) -> Spec:
    """Draw both responses of the paper for every combination."""
    choice = next(iter(choices(rows, users).values()))
    return trade_off_figure(choice, ()) or {}
