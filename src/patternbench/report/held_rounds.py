"""Which rounds of a search are held, and the search as the analysis takes it: light enough for every command."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from patternbench.analyze.boundary.search import Search
from patternbench.analyze.recommend.objectives import Constraint, parse_limit
from patternbench.plan.doses import SearchedConfiguration
from patternbench.study.boundary import Boundary

_NAME = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_.]*\s*")
_YES = 50.0
"""Above it a response that is 100 or 0 says yes."""


def search_of(boundary: Boundary) -> Search:
    """Return a study's search as the analysis takes it."""
    return Search(boundary.doses, boundary.until.half_width.value, boundary.max)


def condition(of: str) -> Constraint:
    """Return which rounds are held: those of which a response is yes, or keeps a limit. Raises DataError."""
    if _NAME.fullmatch(of):
        return Constraint(of, of.strip(), at_most=False, bound=_YES)
    return parse_limit(of)


def held(boundary: Boundary, values: Mapping[str, float]) -> bool | None:
    """Whether a round with these responses is held; None where the response has no value."""
    kept = condition(boundary.of)
    value = values.get(kept.response, math.nan)
    if math.isnan(value):
        return None
    return value <= kept.bound if kept.at_most else value >= kept.bound


def having(every: Sequence[SearchedConfiguration], levels: Mapping[str, object]) -> list[SearchedConfiguration]:
    """Return the configurations of a search that have these levels."""
    return [one for one in every if all(str(one.levels.get(name)) == str(level) for name, level in levels.items())]
