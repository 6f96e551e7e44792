"""Whether the scenarios of a plan can decide the claims of its study: asked before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import cast

from patternbench.analyze.statements.claims.claim import Claim, ClaimText, Level, Levels, LevelSets, parse_claim
from patternbench.analyze.statements.claims.pairs import (
    applying,
    claimed_pairs,
    differing,
    levels_named,
    pairs_of,
    same_level,
    sides_of,
)
from patternbench.observe.registry import units_of
from patternbench.plan.expand import Plan
from patternbench.plan.factors import Factors
from patternbench.study.claims import DeclaredClaim
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import Problem, did_you_mean
from patternbench.terms.quantities import level_text

MOST_NAMED = 20
"""How many allowed names a message lists."""


def problems(study: Study, plan: Plan, responses: Collection[str]) -> Iterator[Problem]:
    """Everything that keeps a claim from being decided, at its place in the study."""
    units = units_of(study.watch)
    for index, declared in enumerate(study.claims):
        path = f"claims[{index}]"
        wrong = [*_unknown_response(declared, path, responses), *_undecidable(declared, path, plan, units)]
        yield from wrong


def _unknown_response(declared: DeclaredClaim, path: str, responses: Collection[str]) -> Iterator[Problem]:
    if declared.response not in responses:
        hint = did_you_mean(declared.response, responses)
        allowed = ", ".join(responses)
        yield Problem(f"`{declared.response}` isn't a response", f"{path}.response", allowed=allowed, hint=hint)


def _undecidable(declared: DeclaredClaim, path: str, plan: Plan, units: Mapping[str, str]) -> Iterator[Problem]:
    text: ClaimText = cast(ClaimText, declared.model_dump())
    try:
        claim = parse_claim(text, path, units)
    except DataError as error:
        yield from (Problem(one.what.rstrip("."), one.where, hint=one.remedy.rstrip(".")) for one in error.problems)
        claim = parse_claim({**text, "change": "higher", "margin": None}, path)  # its levels may be wrong, too
    wrong = [problem for named in levels_named(claim) for problem in _unknown_level(path, named, plan.factors)]
    wrong += [*_named_twice(claim, path), *_unknown_average(claim, path, plan.factors), *_wrong_than(claim, path)]
    yield from wrong or _without_pairs(claim, path, [scenario.levels for scenario in plan.scenarios])


def _unknown_average(claim: Claim, path: str, factors: Factors) -> Iterator[Problem]:
    for index, name in enumerate(claim.over):
        if name not in factors:
            allowed, hint = _listed(factors), did_you_mean(name, factors)
            yield Problem(f"`{name}` isn't a factor of this study", f"{path}.over[{index}]", allowed=allowed, hint=hint)


def _wrong_than(claim: Claim, path: str) -> Iterator[Problem]:
    """``than`` names other levels than ``where`` of the same factors: else a change is compared with itself."""
    for name, levels in claim.than.items():
        if name not in claim.where:
            hint = f"write under which {name} the change is claimed, too"
            yield Problem(f"{name} isn't in `where`", f"{path}.than.{name}", allowed=_listed(claim.where), hint=hint)
        elif any(same_level(one, other) for one in levels for other in claim.where[name]):
            allowed = "levels that `where` doesn't name"
            yield Problem(f"{name} has a level of `where`", f"{path}.than.{name}", allowed=allowed)


def _unknown_level(path: str, named: tuple[str, str, Level], factors: Factors) -> Iterator[Problem]:
    where, name, level = named
    if name not in factors:
        allowed, hint = _listed(factors), did_you_mean(name, factors)
        yield Problem(f"`{name}` isn't a factor of this study", f"{path}.{where}", allowed=allowed, hint=hint)
    elif level is not None and not any(same_level(level, one) for one in factors[name].levels):
        allowed = _listed(map(str, factors[name].levels))
        yield Problem(f"{name} has no such level", f"{path}.{where}", value=level, allowed=allowed)


def _named_twice(claim: Claim, path: str) -> list[Problem]:
    allowed = "factors that neither `from` nor `to` names"
    both = [name for name in claim.where if name in claim.factors]
    return [Problem(f"{name} is in `from` or `to` already", f"{path}.where.{name}", allowed=allowed) for name in both]


def _without_pairs(claim: Claim, path: str, levels: list[Levels]) -> Iterator[Problem]:
    pairs = pairs_of(claim, levels)
    if not pairs:
        yield _no_pair(claim, path, [applying(one) for one in levels])
        return
    than = [place for one in claimed_pairs(claim, levels) for place in one.than]
    for where, name, level in levels_named(claim):
        named = than if where.startswith("than.") else pairs
        side = 1 if where.startswith("to.") else 0
        if not any(same_level(levels[pair[side]].get(name), level) for pair in named):
            message = "no two scenarios with this level differ in just what the claim names"
            yield Problem(message, f"{path}.{where}", value=level, hint="leave it out of the claim")


def _no_pair(claim: Claim, path: str, levels: list[Levels]) -> Problem:
    starts, ends = sides_of(claim, levels)
    for side, found, expected in (("from", starts, claim.start), ("to", ends, claim.end)):
        if not found:
            rest = f" where {_levels(claim.where)}" if claim.where else ""
            return Problem(
                f"no scenario has {_levels(expected)}{rest}", f"{path}.{side}", hint="see `patternbench plan`"
            )
    if starts == ends:
        return Problem("`from` and `to` are the same scenarios", path, allowed="levels that differ")
    others = min((differing(claim, levels[a], levels[b]) for a in starts for b in ends if a != b), key=len, default=[])
    message = "no two scenarios differ in just what `from` and `to` name"
    names = " and ".join(others)
    hint = f"name {names} in both" if others else ""
    return Problem(f"{message}: they differ in {names}, too" if others else message, path, hint=hint)


def _levels(named: LevelSets) -> str:
    return ", ".join(f"{name}={' or '.join(map(level_text, levels))}" for name, levels in named.items())


def _listed(names: Collection[str] | Iterator[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more
