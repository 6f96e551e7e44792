"""What a recommendation says of which scenarios: the part of a choice that findings must agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from patternbench.analyze.recommend.recommendation import Candidate, Choice, Criteria, Recommendation
from patternbench.analyze.rounds import ColumnRoles, Key, key, rows_by_levels
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.observe.section import Stand


def stands(recommendation: Recommendation, rounds: pd.DataFrame, criteria: Criteria) -> list[Stand]:
    """Return what the choice under each condition says of which scenarios."""
    ids = scenario_ids(rounds, criteria)
    return [_stand(choice, recommendation, ids) for choice in recommendation.choices]


def scenario_ids(rounds: pd.DataFrame, criteria: Criteria) -> dict[Key, frozenset[str]]:
    """Return the ids of the scenarios that have the same levels, by these."""
    columns, ids = ColumnRoles(tuple(criteria.by), (), criteria.factors), rounds["scenario"]
    return {key(levels): frozenset(ids.iloc[rows]) for levels, rows in rows_by_levels(rounds, columns)}


def _stand(choice: Choice, recommendation: Recommendation, ids: Mapping[Key, frozenset[str]]) -> Stand:
    def of(candidates: Iterable[Candidate]) -> frozenset[str]:
        return frozenset(one for candidate in candidates for one in ids.get(key(candidate.scenario.levels), ()))

    clear = [choice.chosen] if choice.chosen and choice.verdict.is_clear and len(choice.candidates) > 1 else []
    return Stand(
        response=recommendation.objectives[0].response,
        among=of(choice.candidates),
        best=of(clear),
        broken=of(one for one in choice.candidates if not one.feasible),
        no_gain=choice.verdict is ChoiceVerdict.TIE and choice.chosen is not choice.ties[0] and not choice.gains,
        closest=choice.chosen is None and len(recommendation.limits) == 1,
    )
