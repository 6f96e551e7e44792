"""Which pairs of scenarios decide a claim: those that differ in what it names, and in nothing else.

Both scenarios of a pair have the same level of every factor that both have, but for the factors that the claim names on
both sides. A factor that only one of them has comes with a named level, as a retry's back-off comes with
``strategy: retry``. It does so only where no pair has all factors in common: an exponential back-off has another
partner than a linear one.

Where that leaves no pair, and a claim names strategies on both sides, they are compared as they are: what each of the
study's strategies has one level of belongs to it, and is named with it.

Each pair decides by itself, or pairs that differ in nothing but what the claim averages over decide together. With
``than``, their change is compared with that of the pairs under those levels that are alike in all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from patternbench.analyze.statements.claims.claim import Claim, Level, Levels, LevelSets
from patternbench.terms.quantities import level_text
from patternbench.terms.units import Duration

Place = tuple[int, int]
"""The positions of both scenarios of a pair."""
_BOTH = 2
STRATEGY, CLIENT = "strategy", "client"
"""The factors by which a study names its strategies, and who carries them out."""


@dataclass(frozen=True)
class ClaimedPairs:
    """The pairs whose mean change is one change of a claim, and those with whose mean change it is compared.

    ``where`` are the levels that tell it from the others of its claim.
    """

    where: Mapping[str, Level]
    pairs: tuple[Place, ...]
    than: tuple[Place, ...] = ()


def claimed_pairs(claim: Claim, scenarios: Sequence[Levels]) -> list[ClaimedPairs]:
    """Return what each change of a claim is made of."""
    claim = with_strategies(claim, scenarios)
    own = _averaged(claim, scenarios, claim)
    if not claim.than:
        reported = distinguishing(claim, [_without(claim.over, scenarios, pairs[0]) for pairs in own.values()])
        return [ClaimedPairs(where, tuple(pairs)) for where, pairs in zip(reported, own.values(), strict=True)]
    others = _averaged(claim, scenarios, replace(claim, where={**claim.where, **claim.than}))
    both = [
        (pairs, than)
        for (levels, pairs), (other, than) in product(own.items(), others.items())
        if _without_than(claim, levels) == _without_than(claim, other)
    ]
    reported = distinguishing(claim, [_against(claim, scenarios, pairs[0], than[0]) for pairs, than in both])
    return [ClaimedPairs(where, tuple(a), tuple(b)) for where, (a, b) in zip(reported, both, strict=True)]


_SharedParts = frozenset[tuple[str, object]]
"""The levels that pairs have which are averaged together."""


def _averaged(claim: Claim, scenarios: Sequence[Levels], within: Claim) -> dict[_SharedParts, list[Place]]:
    """Return the pairs within a claim, by what those share that are averaged together."""
    found: dict[_SharedParts, list[Place]] = {}
    for a, b in pairs_of(within, scenarios):
        found.setdefault(_shared(claim, applying(scenarios[a]), applying(scenarios[b])), []).append((a, b))
    return found


def _shared(claim: Claim, a: Levels, b: Levels) -> _SharedParts:
    """Return the levels of a pair that the claim does not average over: of what changes, both."""
    if claim.of_mean:
        return frozenset()
    merged: dict[str, object] = {name: _key(level) for name, level in {**b, **a}.items()}
    merged |= {name: (_key(a.get(name)), _key(b.get(name))) for name in claim.changed}
    return frozenset((name, level) for name, level in merged.items() if name not in claim.over)


def _without_than(claim: Claim, shared: _SharedParts) -> _SharedParts:
    return frozenset((name, level) for name, level in shared if name not in claim.than)


def _without(names: Sequence[str], scenarios: Sequence[Levels], place: Place) -> tuple[Levels, Levels]:
    a, b = ({name: level for name, level in scenarios[i].items() if name not in names} for i in place)
    return a, b


def _against(claim: Claim, scenarios: Sequence[Levels], place: Place, other: Place) -> tuple[Levels, Levels]:
    """Return the levels of a pair, of what ``than`` names next to those of another: ``40 against 20``."""
    sides = _without(claim.over, scenarios, place), _without(claim.over, scenarios, other)
    reported = [
        {n: _both(level, theirs.get(n)) if n in claim.than else level for n, level in ours.items()}
        for ours, theirs in zip(*sides, strict=True)
    ]
    return reported[0], reported[1]


def _both(level: Level, other: Level) -> Level:
    return f"{level_text(level)} against {level_text(other)}"


def pairs_of(claim: Claim, scenarios: Sequence[Levels]) -> list[Place]:
    """Return the positions of the scenarios that a claim compares, from each to its partners."""
    return _pairs(with_strategies(claim, scenarios), [applying(levels) for levels in scenarios])


def with_strategies(claim: Claim, scenarios: Sequence[Levels]) -> Claim:
    """Return a claim on two strategies that names what belongs to them, where no pair differs in their names only.

    The client does not belong to a strategy: who compares two clients says so.
    """
    plain = [applying(levels) for levels in scenarios]
    if STRATEGY not in claim.changed or _pairs(claim, plain):
        return claim
    sides = [[plain[i] for i in side] for side in sides_of(claim, plain)]
    open_to_it = {name for side in sides for levels in side for name in levels} - {CLIENT, *claim.factors, *claim.where}
    names = sorted(name for name in open_to_it if _of_strategy(name, plain))
    start, end = ({name: _levels_of(name, side) for name in names} for side in sides)
    return replace(claim, start={**start, **claim.start}, end={**end, **claim.end})


def _of_strategy(name: str, scenarios: Sequence[Levels]) -> bool:
    """Whether each strategy has one level of a factor at most, and not all have the same."""
    found = {(levels.get(STRATEGY), _key(levels.get(name))) for levels in scenarios}
    return len(found) == len({strategy for strategy, _ in found}) and len({level for _, level in found}) > 1


def _levels_of(name: str, side: Sequence[Levels]) -> list[Level]:
    return list(dict.fromkeys(levels.get(name) for levels in side))


def _pairs(claim: Claim, plain: Sequence[Levels]) -> list[Place]:
    starts, ends = sides_of(claim, plain)
    found = [(a, b) for a in starts for b in ends if a != b and not differing(claim, plain[a], plain[b])]
    alike = [(a, b) for a, b in found if not _one_sided(claim, plain[a], plain[b])]
    return alike or found


def sides_of(claim: Claim, scenarios: Sequence[Levels]) -> tuple[list[int], list[int]]:
    """Return the positions of the scenarios with the levels of each side."""
    inside = [i for i, levels in enumerate(scenarios) if _within(levels, claim.where)]
    starts = [i for i in inside if _within(scenarios[i], claim.start)]
    return starts, [i for i in inside if _within(scenarios[i], claim.end)]


def differing(claim: Claim, a: Levels, b: Levels) -> list[str]:
    """Return the factors that both scenarios have, at different levels, and that the claim does not let differ."""
    shared = (name for name in a if name in b and name not in claim.changed)
    return [name for name in shared if not same_level(a[name], b[name])]


def distinguishing(claim: Claim, pairs: Sequence[tuple[Levels, Levels]]) -> list[dict[str, Level]]:
    """For each pair the levels that tell it from the other pairs of the claim."""
    listed = {name for name in claim.changed if len({*claim.start[name], *claim.end[name]}) > _BOTH}
    merged = [{**applying(b), **applying(a), **_changes(listed, a, b)} for a, b in pairs]
    names = dict.fromkeys(name for levels in merged for name in levels if name not in claim.changed - listed)
    varying = [name for name in names if len({_key(levels.get(name)) for levels in merged}) > 1]
    return [{name: levels[name] for name in varying if name in levels} for levels in merged]


def _changes(names: Iterable[str], a: Levels, b: Levels) -> dict[str, Level]:
    return {name: f"{level_text(a.get(name))} to {level_text(b.get(name))}" for name in sorted(names)}


def same_level(a: Level, b: Level) -> bool:
    """Whether two texts or numbers write the same level: 60ms and 0.06s, 40 and 40.0."""
    return _key(a) == _key(b)


def applying(levels: Levels) -> dict[str, Level]:
    """Return the levels that apply; what does not apply to a scenario is missing, or null in a plan."""
    return {name: level for name, level in levels.items() if level is not None}


def _one_sided(claim: Claim, a: Levels, b: Levels) -> set[str]:
    return ({*a} ^ {*b}) - claim.factors


def _within(levels: Levels, where: LevelSets) -> bool:
    return all(any(same_level(levels.get(name), one) for one in allowed) for name, allowed in where.items())


def _key(level: Level) -> object:
    """Return what is equal for equal levels: a truth value isn't a number, and a text is one only as a duration."""
    if isinstance(level, bool):
        return ("truth", level)
    return _duration(level) if isinstance(level, str) else level


def _duration(text: str) -> object:
    try:
        return Duration.parse(text)
    except ValueError:
        return text


def levels_named(claim: Claim) -> Iterable[tuple[str, str, Level]]:
    """Every level that a claim names: where in the claim, the factor, the level."""
    for where, named in (("from", claim.start), ("to", claim.end), ("where", claim.where), ("than", claim.than)):
        for name, levels in named.items():
            for number, level in enumerate(levels):
                yield f"{where}.{name}" + (f"[{number}]" if len(levels) > 1 else ""), name, level
