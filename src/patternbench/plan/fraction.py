"""Designs with fewer than all combinations: a balanced fraction or a Latin hypercube, and what they confound.

Both are drawn per strategy, over the factors that vary for it. Strategies without a pattern are kept whole, so that
every scenario can be compared with its baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations as pairs_of

import numpy as np

from patternbench.plan.factors import Factors, Level, is_baseline
from patternbench.study.models import Design
from patternbench.terms.arrays import Floats, Ints
from patternbench.terms.problems import InputError, Problem

Rows = Floats | Ints
"""A row for each combination: of each factor the index of its level."""
Levels = Mapping[str, Level]
WHO = ("client", "strategy")
FEWEST_FACTORS = 2
TOLD_APART = 0.01
ALIASED = 0.999
"""Shares of a factor's variation that an interaction explains: below the first it counts as 0, from the second as 1."""


def problems(design: Design) -> list[Problem]:
    """Keys of a design that exclude each other."""
    requested = [name for name in ("fraction", "latin_hypercube") if getattr(design, name) is not None]
    conflicts = []
    if len(requested) == FEWEST_FACTORS:
        message = "does not go with `fraction`"
        conflicts.append(Problem(message, path="design.latin_hypercube", allowed="one of the two"))
    if requested and design.zip:
        hint = f"leave out `{requested[0]}`, or give the zipped factors as one"
        conflicts.append(Problem(f"does not go with `{requested[0]}`", path="design.zip", hint=hint))
    return conflicts


def reduced(every: Sequence[Levels], factors: Factors, design: Design, seed: int) -> list[bool]:
    """Whether the design keeps each of ``every`` combination of levels; raises InputError where it cannot be made."""
    if design.fraction is None and design.latin_hypercube is None:
        return [True] * len(every)
    whole = _references(every, factors)
    kept = list(whole)
    for number, members in enumerate(grouped(every).values()):
        if all(whole[i] for i in members):
            continue
        names = varying([every[i] for i in members])
        few = len(names) < FEWEST_FACTORS
        chosen = set() if few else _chosen([every[i] for i in members], names, design, seed + number)
        for i in members:
            kept[i] |= few or tuple(every[i][name] for name in names) in chosen
    return kept


def grouped(every: Sequence[Levels]) -> dict[tuple[object, ...], list[int]]:
    """Return the places of the combinations of each client and strategy that have the same factors."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, levels in enumerate(every):
        groups.setdefault((*(levels.get(name) for name in WHO), *levels), []).append(index)
    return groups


def varying(every: Sequence[Levels]) -> list[str]:
    """Return the factors that have several levels among the combinations."""
    return [name for name in every[0] if name not in WHO and len({levels[name] for levels in every}) > 1]


def _references(every: Sequence[Levels], factors: Factors) -> list[bool]:
    """Which combinations others are compared with; none where there is nothing but such."""
    baselines = [is_baseline(levels, factors) for levels in every]
    return [False] * len(every) if all(baselines) else baselines


def _chosen(every: Sequence[Levels], names: Sequence[str], design: Design, seed: int) -> set[tuple[Level, ...]]:
    levels = [list(dict.fromkeys(combination[name] for combination in every)) for name in names]
    rows = _fraction(levels, names, design) if design.fraction else _hypercube(levels, design, seed)
    return {tuple(levels[k][int(index)] for k, index in enumerate(row)) for row in rows}


def _fraction(levels: Sequence[Sequence[Level]], names: Sequence[str], design: Design) -> Rows:
    """Return a generalized subset design (Surowiec et al., Chemometrics and Intelligent Laboratory Systems 2017)."""
    part = int(str(design.fraction).split("/")[1])
    smallest = max(len(one) for one in levels)
    if part > smallest:
        text = ", ".join(f"{name} has {len(one)}" for name, one in zip(names, levels, strict=True))
        message = f"is too small a fraction for these numbers of levels ({text})"
        raise InputError(
            Problem(message, path="design.fraction", value=design.fraction, allowed=f"1/2 to 1/{smallest}")
        )
    import pydoe  # noqa: PLC0415 - slow to import, and most studies need all combinations

    rows: Rows = pydoe.gsd([len(one) for one in levels], part)
    return rows


def _hypercube(levels: Sequence[Sequence[Level]], design: Design, seed: int) -> Rows:
    expected, full = int(design.latin_hypercube or 0), int(np.prod([len(one) for one in levels]))
    if expected >= full:
        message = f"isn't less than all {full} combinations of a strategy"
        raise InputError(Problem(message, path="design.latin_hypercube", value=expected, allowed=f"1 to {full - 1}"))
    import pydoe  # noqa: PLC0415 - slow to import

    points = pydoe.lhs(len(levels), samples=expected, seed=seed)
    rows: Rows = np.floor(points * [len(one) for one in levels])
    return rows


def aliasing(every: Sequence[Levels]) -> list[str]:
    """List for each strategy the factors whose effects the design confounds with an interaction of two others.

    The measure is the largest squared canonical correlation between a factor's contrasts and the interaction's, after
    the interaction's own two factors are taken out. With 1 the two can't be distinguished.
    """
    sentences = []
    for members in grouped(every).values():
        chosen = [every[i] for i in members]
        names = varying(chosen)
        who = " of ".join(str(chosen[0][name]) for name in reversed(WHO) if name in chosen[0])
        sentences += [f"{who}: {text}" for text in _mixed(chosen, names)]
    return sentences


def _mixed(every: Sequence[Levels], names: Sequence[str]) -> list[str]:
    contrasts = {name: _contrasts([levels[name] for levels in every]) for name in names}
    ones = np.ones((len(every), 1))
    sentences = []
    for one, other in pairs_of(names, 2):
        shared = _overlap(contrasts[one], contrasts[other], ones)
        if shared > TOLD_APART:
            sentences.append(_sentence(one, other, shared))
    for name in names:
        for one, other in pairs_of([n for n in names if n != name], 2):
            a, b = contrasts[one], contrasts[other]
            product = (a[:, :, None] * b[:, None, :]).reshape(len(every), -1)
            shared = _overlap(contrasts[name], product, np.hstack([ones, a, b]))
            if shared > TOLD_APART:
                sentences.append(_sentence(name, f"{one} x {other}", shared))
    return sentences


def _sentence(name: str, other: str, shared: float) -> str:
    if shared >= ALIASED:
        return f"the effect of {name} can't be distinguished from that of {other}."
    return f"the effect of {name} shares up to {shared:.0%} of its variation with {other}."


def _contrasts(values: Sequence[Level]) -> Floats:
    """Return a column for each level but the first: 1 where it holds."""
    levels = list(dict.fromkeys(values))
    return np.array([[float(value == level) for level in levels[1:]] for value in values])


def _overlap(left: Floats, right: Floats, without: Floats) -> float:
    """Return the largest squared canonical correlation of two sets of columns, the second less ``without``."""
    base, own = (
        _basis(left - left.mean(axis=0)),
        _basis(right - without @ np.linalg.lstsq(without, right, rcond=None)[0]),
    )
    if not base.shape[1] or not own.shape[1]:
        return 0.0
    return float(np.linalg.svd(base.T @ own, compute_uv=False)[0] ** 2)


def _basis(columns: Floats) -> Floats:
    """Return an orthonormal basis of what the columns span."""
    u, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1.0)])
