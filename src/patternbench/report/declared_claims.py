"""The claims that a study declares, as values: apart from their section, so that plan need not load what draws it."""

from __future__ import annotations

from typing import cast

from patternbench.analyze.statements.claims.claim import Claim, ClaimText, parse_claim
from patternbench.observe.registry import units_of
from patternbench.study.models import Study


def claims_of(study: Study) -> list[Claim]:
    """Return the claims of a study; raises ``DataError`` for one that has no meaning."""
    texts = (cast(ClaimText, declared.model_dump()) for declared in study.claims)
    units = units_of(study.watch)
    return [parse_claim(text, f"claims[{index}]", units) for index, text in enumerate(texts)]
