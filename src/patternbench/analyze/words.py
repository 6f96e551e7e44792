"""Says in a sentence what a model found: the effect, its interval, and whether it can be told from none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .contrasts import Contrast, contrasts, entangled
from .crossval import undo_log
from .formula import Block
from .linear import Coefficient
from .models import ModelResult
from .units import is_duration, level_text, number, quantity, span

_LEVEL = re.compile(r"^(?:C\()?`?([^`\[\]()]+)`?\)?\[T\.(.*)\]$")
_LOGGED = re.compile(r"^(log|log2|log10)\(`?([^`()]+)`?\)$")
_LOG_OF_TWO = {"log": float(np.log(2)), "log2": 1.0, "log10": float(np.log10(2))}
_GOOD_ERROR = 30.0


@dataclass(frozen=True)
class Effect:
    """One effect in words: its term, the sentence, and whether the interval excludes zero."""

    term: str
    sentence: str
    shown: bool


def p_value(p: float) -> str:
    """Write a p-value; below 2.2e-16 doubles cannot tell it from zero (as R prints it)."""
    smallest = 2.2e-16
    return "< 2.2e-16" if p < smallest else f"{p:.3g}"


def preferred(result: ModelResult) -> tuple[Sequence[Coefficient], str]:
    """Return the coefficients to read and their kind: a remedy's where an assumption failed."""
    kinds = {remedy.kind: remedy for remedy in result.remedies}
    for kind, name in (("mixed_model", "mixed model"), ("hc3", "robust HC3 standard errors")):
        if kind in kinds:
            return kinds[kind].coefficients, name
    return result.fit.coefficients, "least squares"


def effects(result: ModelResult) -> tuple[Effect, ...]:
    """Put every effect of a model in words, in the order of the formula.

    A factor that stands in one term is told from its coefficients, one in several terms by its contrasts.
    """
    found, _ = preferred(result)
    tangled = entangled(result.fit.design)
    sentences: list[Effect | None] = []
    for block in result.fit.design.blocks:
        if not tangled.keys() & set(block.reads):
            sentences += [_effect(result, block, found[column]) for column in block.columns]
    for name, partners in tangled.items():
        rest = ", the others at their means and reference levels," if len(partners) > 1 else ""
        sentences += [_held(result, one, rest) for one in contrasts(result, name, partners)]
    return tuple(one for one in sentences if one is not None)


def _held(result: ModelResult, one: Contrast, rest: str) -> Effect:
    where = rest + "".join(f" at {name} = {_place(name, level)}" for name, level in one.where.items())
    if one.factor in result.fit.design.ranges:
        ends = (measured_at(one.factor, float(str(end))) for end in (one.before, one.after))
        subject = f"Raising {one.factor} from {' to '.join(ends)}"
    else:
        subject = f"{one.factor} = {one.after} instead of {one.before}"
    sentence = _sentence(result, f"{subject}{where}", one.estimate, one.low, one.high)
    return Effect(one.factor, sentence, one.low > 0 or one.high < 0)


def _effect(result: ModelResult, block: Block, c: Coefficient) -> Effect | None:
    if block.name == "Intercept" or ":" in block.name:
        return None
    asked = _question(result, c.name)
    if asked is None:
        return None
    subject, step = asked
    low, high = sorted((c.ci_low * step, c.ci_high * step))
    shown = low > 0 or high < 0
    return Effect(c.name, _sentence(result, subject, c.estimate * step, low, high), shown)


def _question(result: ModelResult, name: str) -> tuple[str, float] | None:
    """Return the change a coefficient is asked about, and what its estimate is multiplied by for it."""
    if level := _LEVEL.match(name):
        factor, value = level.group(1), level.group(2)
        return f"{factor} = {value} instead of {result.fit.design.levels[factor][0]}", 1.0
    if logged := _LOGGED.match(name):
        return f"Doubling {logged.group(2)}", _LOG_OF_TWO[logged.group(1)]
    plain = name.strip("`")
    if plain not in result.fit.design.ranges:
        return None
    low, high = result.fit.design.ranges[plain]
    return f"Raising {plain} from {measured_at(plain, low)} to {measured_at(plain, high)}", high - low


def _place(factor: str, level: object) -> str:
    return measured_at(factor, level) if isinstance(level, float) else level_text(factor, level)


def measured_at(factor: str, value: float) -> str:
    """Write a value of a numeric factor: durations as a study writes them."""
    return level_text(factor, value) if is_duration(factor) else number(value)


def _sentence(result: ModelResult, subject: str, change: float, low: float, high: float) -> str:
    target, base = undo_log(result.fit.response)
    if base is not None:
        change, low, high = (float(np.power(base, v) - 1) * 100 for v in (change, low, high))
    name = "" if base is not None else target
    tail = " %" if base is not None else ""
    if low <= 0 <= high:
        return f"{subject} shows no effect on {target} (between {span(name, low, high, 'and')}{tail})."
    verb = "raises" if change > 0 else "cuts"
    least, most = sorted((abs(low), abs(high)))
    size = f"{quantity(name, abs(change))}{tail} ({span(name, least, most)}{tail})"
    return f"{subject} {verb} {target} by {size}{_share_of_mean(result, change, base)}."


def _share_of_mean(result: ModelResult, change: float, base: float | None) -> str:
    mean = float(result.fit.y.mean())
    if base is not None or mean <= 0 or result.fit.y.min() < 0:
        return ""
    return f", {abs(change) / mean:.0%} of its mean"


def headline(result: ModelResult) -> str:
    """Say how much the model explains and how well it predicts what it has not seen."""
    s, errors, unseen = result.fit.summary, result.errors, result.cross_validation.errors
    target, base = undo_log(result.fit.response)
    noun = result.fit.response if base is not None else target
    text = f"The model explains {s.adj_r2:.1%} of the variance of {noun} (adjusted R2, {s.n:,} rows)."
    if errors.mape is not None and unseen.mape is not None:
        return (
            f"{text} It misses by {errors.mape:.3g} % on average on the rows it was fitted on, "
            f"and by {unseen.mape:.3g} % on scenarios it has not seen."
        )
    if errors.mae is not None and unseen.mae is not None:
        return (
            f"{text} It misses by {quantity(target, errors.mae)} on average on the rows it was fitted on, "
            f"and by {quantity(target, unseen.mae)} on scenarios it has not seen."
        )
    return text


def doubts(result: ModelResult) -> tuple[str, ...]:
    """List what a careful reader asks about: failed assumptions, weak prediction, odd rows."""
    found = [_remedy_text(result, i) for i in range(len(result.remedies))]
    unseen = result.cross_validation.errors.mape
    if unseen is not None and unseen > _GOOD_ERROR:
        found.append(
            f"On unseen scenarios it misses by more than {_GOOD_ERROR:.0f} %: too far off even "
            "for rough capacity planning."
        )
    if result.flagged_rows:
        found.append(
            f"{result.flagged_rows:,} of {result.fit.summary.n:,} rows stand out; the first is "
            f"row {result.suspicious[0].row}: {result.suspicious[0].why[0]}."
        )
    return (*found, *(note.text for note in result.notes))


def _remedy_text(result: ModelResult, i: int) -> str:
    remedy = result.remedies[i]
    return f"{' and '.join(remedy.because)}: {remedy.text}"
