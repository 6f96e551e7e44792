"""What a study's configuration sets by itself, so that measuring it finds nothing: the one place that knows.

Two things make an answer true by construction:

- All failed calls were rejected by a limit. Then the shares of calls that succeed or fail, and what is computed from
  their number, follow from the limit that was set: a higher limit lets more through.
- A response is measured against a yardstick that is itself one of the configurations (``Response.set_by``).

Such an answer may decide nothing as if it were found. Choices say it, and findings leave it out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pandas as pd

from patternbench.analyze.recommend.recommendation import Recommendation
from patternbench.report.labels import RESPONSES
from patternbench.report.sections import predicted
from patternbench.terms.data_problems import Note

OF_REJECTIONS = ("success_rate", "failure_rate", "goodput", "Throughput", "time_to_success", "limited_rate")
"""The responses that follow from how many calls a limit lets through."""
ALMOST_ALL = 0.99
"""The share of failed calls that a limit must have rejected to be what makes calls fail."""
REJECTED = (
    "A limit rejected the calls that failed (status 429). How many it lets through follows from the limit that was "
    "set, so that another limit lets more through isn't a finding."
)


def set_by_limits(rounds: pd.DataFrame) -> frozenset[str]:
    """Return the responses that a study's limits set; none if calls fail otherwise, or hardly any is rejected.

    ``rounds`` are those that count, with the columns of the records.
    """
    if not {"limited_rate", "failure_rate"} <= set(rounds.columns) or rounds.empty:
        return frozenset()
    failed, rejected = rounds["failure_rate"].sum(), rounds["limited_rate"].sum()
    return frozenset(OF_REJECTIONS) if failed > 0 and rejected >= ALMOST_ALL * failed else frozenset()


def with_notes(recommendation: Recommendation, rounds: pd.DataFrame) -> Recommendation:
    """Return a recommendation with a note for each reason why it shows less than it seems to."""
    reported = by_construction(rounds, requested_of(recommendation))
    notes = [*predicted.notes(rounds), *(Note("by_construction", text) for text in reported)]
    return replace(recommendation, notes=(*recommendation.notes, *notes))


def as_constructed(lead: str, recommendation: Recommendation) -> str:
    """Return the words of a choice without *clearly* where nothing else than the construction decides it.

    That is so where it is the only one that keeps the limits, or where a limit of the study sets the objective.
    """
    feasible = [sum(one.feasible for one in choice.candidates) for choice in recommendation.choices]
    if max(feasible, default=0) > 1 and recommendation.objectives[0].response not in OF_REJECTIONS:
        return lead
    return lead.replace("Clearly ", "By construction ").replace(": clearly ", ": by construction ")


def requested_of(recommendation: Recommendation) -> list[str]:
    """Return the responses that decide a recommendation: of its objectives and limits."""
    objectives = [one.response for one in recommendation.objectives]
    return list(dict.fromkeys([*objectives, *(one.response for one in recommendation.limits)]))


def by_construction(rounds: pd.DataFrame, responses: Collection[str]) -> list[str]:
    """Why an answer about these responses is true by construction: a sentence for each reason."""
    rejected = [REJECTED] if set_by_limits(rounds) & set(responses) else []
    return rejected + list(dict.fromkeys(RESPONSES[name].set_by for name in responses if _yardstick(name)))


def _yardstick(name: str) -> str:
    return RESPONSES[name].set_by if name in RESPONSES else ""
