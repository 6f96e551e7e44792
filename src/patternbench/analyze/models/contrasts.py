"""Effects of factors with several terms: the effect of changing one while the others are held.

The coefficient of ``users`` in ``users * strategy`` speaks of the reference strategy alone, and that of ``users`` in
``users + I(users**2)`` of nothing that can be done. Here an effect is a difference of two rows of the design, d: its
estimate is d'b and its variance d'Vd, with b and V of the coefficients that are to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from patternbench.analyze.models.fit import ModelResult
from patternbench.analyze.models.formula import DesignMatrix, right_side
from patternbench.terms.arrays import Floats

_MOST_LEVELS = 5


@dataclass(frozen=True)
class Contrast:
    """The change of the response when factor goes ``before`` -> ``after``, while ``where`` holds; with its interval."""

    factor: str
    before: object
    after: object
    where: Mapping[str, object]
    estimate: float
    low: float
    high: float


def entangled(design: DesignMatrix) -> dict[str, tuple[str, ...]]:
    """Return the factors that several terms read, each with the other factors of those terms."""
    reads = [block.reads for block in design.blocks if block.name != "Intercept"]
    partners = {}
    for factor in design.parsed.right:
        terms = [names for names in reads if factor in names]
        if len(terms) > 1:
            others = (name for names in terms for name in names if name != factor)
            partners[factor] = tuple(dict.fromkeys(others))
    return partners


def contrasts(result: ModelResult, factor: str, partners: tuple[str, ...]) -> Iterator[Contrast]:
    """Change ``factor`` over its range, or from its reference level to each other, at the ends of its only partner.

    Without a partner, or with several, the others are at their means and reference levels.
    """
    design = result.fit.design
    held = _ends(design, partners[0]) if len(partners) == 1 else ()
    for before, after in _steps(design, factor):
        for where in [{partners[0]: value} for value in held] or [{}]:
            yield _contrast(result, factor, (before, after), where)


def _steps(design: DesignMatrix, factor: str) -> list[tuple[object, object]]:
    if factor in design.ranges:
        return [design.ranges[factor]]
    reference, *others = design.levels[factor]
    return [(reference, level) for level in others]


def _ends(design: DesignMatrix, factor: str) -> tuple[object, ...]:
    return design.ranges[factor] if factor in design.ranges else design.levels[factor][:_MOST_LEVELS]


def fitted_at(result: ModelResult, places: Sequence[Mapping[str, object]]) -> list[tuple[float, float, float]]:
    """Return the mean response at each of ``places`` (the rest in the middle) by the model, with its interval.

    What a place says of factors that the model does not hold is left out.
    """
    factors = result.fit.design.parsed.right
    held = [{name: level for name, level in at.items() if name in factors} for at in places]
    return [result.inference.interval(row, result.fit.level) for row in _rows(result.fit.design, held)]


def _contrast(result: ModelResult, factor: str, step: tuple[object, object], where: Mapping[str, object]) -> Contrast:
    before, after = _rows(result.fit.design, [{**where, factor: level} for level in step])
    return Contrast(factor, *step, where, *result.inference.interval(after - before, result.fit.level))


def _rows(design: DesignMatrix, places: Sequence[Mapping[str, object]]) -> Floats:
    """Return a row of the design for each place: places x columns."""
    middle = {name: _middle(design, name) for name in design.parsed.right}
    frame = pd.DataFrame([{**middle, **at} for at in places])
    for name, levels in design.levels.items():
        frame[name] = pd.Categorical(frame[name], categories=list(levels))
    matrix, names, _ = right_side(design.parsed, frame)
    positions = {name: i for i, name in enumerate(names)}
    rows: Floats = matrix[:, [positions[name] for name in design.columns]]
    return rows


def _middle(design: DesignMatrix, name: str) -> object:
    return float(design.frame[name].mean()) if name in design.ranges else design.levels[name][0]
