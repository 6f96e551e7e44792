"""The first section of a page that recommends: the choices, what they gain, and how often each comes first."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.analyze.recommend.recommendation import Choice, Recommendation, configuration, flips_in_words
from patternbench.analyze.rounds import label
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.observe.section import Drawing, Figure, Section, Table
from patternbench.report.first_screen import Contender
from patternbench.report.interval_pictures import rows
from patternbench.report.pages import comparison_figures as figures
from patternbench.report.sections.deciding import drawn
from patternbench.terms.data_problems import plural

MOST_SAID = 6
"""Conditions whose choice is said in a sentence of its own; a table has all."""
MOST_DRAWN = 12


def chosen(recommendation: Recommendation) -> Section:
    """Return the section on the choice."""
    limits = " and ".join(limit.text for limit in recommendation.limits)
    return Section(
        "recommendation",
        f"To {recommendation.objectives[0].words}",
        [*([f"Subject to {limits}."] if limits else []), *flips_in_words(recommendation.flips)],
        answers=list(_answers(recommendation)),
        look=_look(recommendation),
        warnings=[note.text for note in recommendation.notes],
        tables=list(_tables(recommendation)),
        drawings=list(_drawings(recommendation)),
    )


def _answers(recommendation: Recommendation) -> Iterator[str]:
    choices = recommendation.choices
    yield from (choice.text for choice in choices[:MOST_SAID])
    if len(choices) > MOST_SAID:
        yield f"The table has {plural(len(choices) - MOST_SAID, 'condition')} more."


def _look(recommendation: Recommendation) -> str:
    """Return the look of the answer: better where every choice is clear, worse where nothing keeps the limits."""
    choices = recommendation.choices
    if all(one.verdict is ChoiceVerdict.NOTHING and one.sure for one in choices):
        return "worse"
    return "better" if all(one.verdict.is_clear for one in choices) else "open"


def _tables(recommendation: Recommendation) -> Iterator[Table]:
    """Yield the table of what each choice gains and costs against the baseline, if there is one."""
    table = [
        {
            "condition": label(choice.conditions),
            "choose": _name(choice, recommendation),
            "against the baseline": one.words,
        }
        for choice in recommendation.choices
        for one in choice.against_baseline
    ]
    if table:
        yield Table("What the choice gains and costs", pd.DataFrame(table))


def _name(choice: Choice, recommendation: Recommendation) -> str:
    return configuration(choice.chosen.scenario, recommendation.conditions) if choice.chosen else "nothing"


def _drawings(recommendation: Recommendation) -> Iterator[Drawing]:
    """Yield the figure of how the choices differ from the baseline in what was asked for, where that is a ratio."""
    objective = recommendation.objectives[0]
    changes = [
        Contender(
            label(choice.conditions) if choice.conditions else "",
            _name(choice, recommendation),
            drawn(one, objective.minimise),
            chosen=False,
        )
        for choice in recommendation.choices
        for one in choice.against_baseline
        if one.response == objective.response and one.relative is not None
    ]
    if changes:
        title = f"{objective.response}, change of the choice against the baseline"
        left = len(changes) - MOST_DRAWN
        more = f" {left} more are in the table." if left > 0 else ""
        better = "Left" if objective.minimise else "Right"
        caption = f"{better} of the line is better. Lines are intervals of the change.{more}"
        yield Drawing(title, rows(changes[:MOST_DRAWN], title), caption)


def wins(recommendation: Recommendation) -> Figure:
    """Return the figure of how often each configuration comes first."""
    return Figure(
        "How often each configuration comes first",
        figures.wins_figure(recommendation.choices, recommendation.conditions),
        "Share of redrawn blocks in which each came first. It shows the spread; tests decide what is clear.",
    )
