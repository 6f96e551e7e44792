"""Effects of a model in sentences: the effect, its interval, and whether it differs from zero."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.covariates import is_moved
from patternbench.analyze.models.contrasts import Contrast, contrasts, entangled
from patternbench.analyze.models.crossval import undo_log
from patternbench.analyze.models.fit import ModelResult
from patternbench.analyze.models.formula import Block
from patternbench.analyze.models.inference import Coefficient
from patternbench.analyze.models.influence import SuspiciousRow
from patternbench.analyze.models.linear import Summary
from patternbench.terms.factors import FactorTable
from patternbench.terms.quantities import apart, number, p_value, quantity, span

_LEVEL = re.compile(r"^(?:C\()?`?([^`\[\]()]+)`?\)?\[T\.(.*)\]$")
_LOGGED = re.compile(r"^(log|log2|log10)\(`?([^`()]+)`?\)$")
_LOG_OF_TWO = {"log": float(np.log(2)), "log2": 1.0, "log10": float(np.log10(2))}
_GOOD_ERROR = 30.0


@dataclass(frozen=True)
class Effect:
    """One effect in words: its term, its sentence, whether its interval excludes zero, and the change itself.

    ``change`` is in the response's own unit; of a log response, in percent.
    """

    term: str
    sentence: str
    shown: bool
    change: float
    subject: str


def preferred(result: ModelResult) -> tuple[Sequence[Coefficient], str]:
    """Return the coefficients to read and their kind; those of a remedy if an assumption failed."""
    return result.coefficients, result.inference.kind


def effects(result: ModelResult) -> tuple[Effect, ...]:
    """Put every effect of a model in words, in the order of the formula.

    A factor of one term is described by its coefficients, a factor of several terms by its contrasts.
    """
    coefficients, _ = preferred(result)
    tangled = entangled(result.fit.design)
    sentences: list[Effect | None] = []
    for block in result.fit.design.blocks:
        if not tangled.keys() & set(block.reads):
            sentences += [_effect(result, block, coefficients[column]) for column in block.columns]
    for name, partners in tangled.items():
        rest = ", the others at their means and reference levels," if len(partners) > 1 else ""
        sentences += [_held(result, one, rest) for one in contrasts(result, name, partners)]
    return tuple(one for one in sentences if one is not None)


def _held(result: ModelResult, one: Contrast, rest: str) -> Effect:
    factors = result.fit.design.factors
    where = rest + "".join(f" at {name} = {_place(factors, name, level)}" for name, level in one.where.items())
    if one.factor in result.fit.design.ranges:
        ends = measured_range(factors, one.factor, float(str(one.before)), float(str(one.after)))
        subject = f"Raising {one.factor} from {ends}"
    else:
        after, before = (factors.text(one.factor, level) for level in (one.after, one.before))
        subject = f"{one.factor} = {after} instead of {before}"
    sentence = _sentence(result, f"{subject}{where}", one.estimate, one.low, one.high)
    subject = f"{subject}{where}"
    return Effect(one.factor, sentence, _is_shown(one.low, one.high), changed(result, one.estimate), subject)


def _effect(result: ModelResult, block: Block, c: Coefficient) -> Effect | None:
    if block.name == "Intercept" or ":" in block.name:
        return None
    requested = _question(result, c.name)
    if requested is None:
        return None
    subject, step = requested
    low, high = sorted((c.ci_low * step, c.ci_high * step))
    change = c.estimate * step
    sentence = _sentence(result, subject, change, low, high)
    return Effect(c.name, sentence, _is_shown(low, high), changed(result, change), subject)


def _is_shown(low: float, high: float) -> bool:
    """Whether an interval excludes that there is no effect."""
    return low > 0 or high < 0


def changed(result: ModelResult, change: float) -> float:
    """Return a change of the fitted response in its own unit, or in percent where the fit is of its log."""
    base = undo_log(result.fit.response)[1]
    return change if base is None else float(np.power(base, change) - 1) * 100


def amount(result: ModelResult, change: float) -> str:
    """Write a change that ``changed`` returned, with its sign and unit."""
    target, base = undo_log(result.fit.response)
    sign = "-" if change < 0 else "+"
    if base is not None:
        return f"{sign}{number(abs(change))} percentage points"
    return sign + apart(quantity(target, abs(change), result.fit.design.factors.unit(target)))


def _question(result: ModelResult, name: str) -> tuple[str, float] | None:
    """Return the change to describe a coefficient by, and the factor from its estimate to that change."""
    design = result.fit.design
    if level := _LEVEL.match(name):
        factor = level.group(1)
        reference, *others = design.levels[factor]
        value = next((one for one in others if str(one) == level.group(2)), level.group(2))
        after, before = (design.factors.text(factor, one) for one in (value, reference))
        return f"{factor} = {after} instead of {before}", 1.0
    if logged := _LOGGED.match(name):
        return f"Doubling {logged.group(2)}", _LOG_OF_TWO[logged.group(1)]
    plain = name.strip("`")
    if plain not in design.ranges:
        return None
    low, high = design.ranges[plain]
    return f"Raising {plain} from {measured_range(design.factors, plain, low, high)}", high - low


def _place(factors: FactorTable, factor: str, level: object) -> str:
    return factors.measured_at(factor, level) if isinstance(level, float) else factors.text(factor, level)


def measured_range(factors: FactorTable, factor: str, low: float, high: float) -> str:
    """Write the range of a numeric factor; with all digits if its ends are equal to three digits."""
    ends = (factors.measured_at(factor, low), factors.measured_at(factor, high))
    return f"{low:.15g} to {high:.15g}" if ends[0] == ends[1] else " to ".join(ends)


def _sentence(result: ModelResult, subject: str, change: float, low: float, high: float) -> str:
    target, base = undo_log(result.fit.response)
    if base is not None:
        change, low, high = (float(np.power(base, v) - 1) * 100 for v in (change, low, high))
    name = "" if base is not None else target
    tail = " %" if base is not None else ""
    unit = result.fit.design.factors.unit(name)
    interval = f"between {apart(span(name, low, high, unit, 'and'))}{tail}"
    if not _is_shown(low, high):
        return f"{subject}: {_not_shown(result, target, change_share(result, low, high, base))} ({interval})."
    verb = "raises" if change > 0 else "cuts"
    least, most = sorted((abs(low), abs(high)))
    size = f"{apart(quantity(name, abs(change), unit))}{tail} ({apart(span(name, least, most, unit))}{tail})"
    return f"{subject} {verb} {target} by {size}{_share_of_mean(result, change, base)}."


def change_share(result: ModelResult, low: float, high: float, base: float | None) -> float | None:
    """Return the larger end of an interval as a percentage of the response's mean; None without a positive mean.

    ``base`` says that the interval is in percent already.
    """
    largest = max(abs(low), abs(high))
    if base is not None:
        return largest
    mean = float(result.fit.y.mean())
    return largest / mean * 100 if mean > 0 and result.fit.y.min() >= 0 else None


def _not_shown(result: ModelResult, target: str, largest: float | None) -> str:
    """Word an interval that contains zero: the effect is unknown, or smaller than the margin that was asked for.

    The whole interval within the margin is the test of equivalence by two one-sided tests (Schuirmann 1987) at half of
    1 - level each.
    """
    margin = result.margin
    if margin is None or largest is None or largest > margin:
        return f"its effect on {target} is inconclusive"
    return f"it changes {target} by less than {number(margin)} %"


def _share_of_mean(result: ModelResult, change: float, base: float | None) -> str:
    mean = float(result.fit.y.mean())
    if base is not None or mean <= 0 or result.fit.y.min() < 0:
        return ""
    return f", {abs(change) / mean:.0%} of its mean"


def headline(result: ModelResult) -> str:
    """Say how much the model explains, and how well it predicts rows that it has not seen."""
    errors, unseen = result.errors, result.cross_validation.errors
    target, base = undo_log(result.fit.response)
    text = _explained(result, result.fit.response if base is not None else target)
    kind = "MAPE" if errors.mape is not None and unseen.mape is not None else "MAE"
    seen, left_out = (one.mape if kind == "MAPE" else one.mae for one in (errors, unseen))
    if seen is None or left_out is None:
        return text
    unit = result.fit.design.factors.unit(target)
    seen_text, unseen_text = (
        f"{value:.3g} %" if kind == "MAPE" else quantity(target, value, unit) for value in (seen, left_out)
    )
    return (
        f"{text} It misses by {seen_text} on average on the rows it was fitted on, "
        f"and by {unseen_text} on {result.cross_validation.unit} it has not seen."
    )


def _explained(result: ModelResult, noun: str) -> str:
    s, remedy = result.fit.summary, result.remedy
    share, kind = (s.adj_r2, "adjusted R2")
    if remedy is not None and remedy.mixed is not None:
        share, kind = remedy.mixed.explained, "marginal R2"
    if share <= 0:
        return f"The model explains nothing of the variance of {noun} ({kind} {share:.3f}, {s.n:,} rows)."
    return f"The model explains {share:.1%} of the variance of {noun} ({kind}, {s.n:,} rows)."


def statistics(result: ModelResult) -> str:
    """Write the statistics of the model whose coefficients are shown; those of least squares only if it is that one."""
    s, remedy = result.fit.summary, result.remedy
    if remedy is None:
        return summary_line(s)
    f, df, rest, p = result.inference.overall(result.fit.design)
    test = f"F({df}, {rest:.4g}) = {number(f)}, p {p_value(p)}" if df else "test of nothing that varies"
    if remedy.mixed is None:
        return f"R2 {s.r2:.4f}, adjusted {s.adj_r2:.4f}; Wald {test}; residual standard error {number(s.sigma)}"
    mixed = remedy.mixed
    return (
        f"Marginal R2 {mixed.explained:.4f}; Wald {test}; standard deviation between the {mixed.groups} groups "
        f"{number(float(mixed.between[0, 0] ** 0.5))}, within {number(mixed.within**0.5)}; "
        f"restricted log-likelihood {number(mixed.log_likelihood)}"
    )


def summary_line(s: Summary) -> str:
    """Write the statistics of least squares."""
    return (
        f"R2 {s.r2:.4f}, adjusted {s.adj_r2:.4f}; F({s.df_model}, {s.df_residual}) = {number(s.f)}, "
        f"p {p_value(s.f_p)}; AIC {number(s.aic)}, BIC {number(s.bic)}; residual standard error {number(s.sigma)}"
    )


def warnings(result: ModelResult) -> tuple[str, ...]:
    """List the warnings: failed assumptions, weak prediction, rows that stand out."""
    sentences = [_remedy_text(result, i) for i in range(len(result.remedies))]
    unseen = result.cross_validation.errors.mape
    if unseen is not None and unseen > _GOOD_ERROR:
        sentences.append(
            f"On unseen {result.cross_validation.unit} it misses by more than {_GOOD_ERROR:.0f} %: too far off even "
            "for rough capacity planning."
        )
    if result.flagged_rows:
        named = "; ".join(_odd_row(row, result.fit.design.factors) for row in result.suspicious)
        rest = result.flagged_rows - len(result.suspicious)
        more = f"; and {rest:,} more" if rest else ""
        sentences.append(f"{result.flagged_rows:,} of {result.fit.summary.n:,} rows stand out: {named}{more}.")
    return (*_covariate_warnings(result), *sentences, *(note.text for note in result.notes))


def _covariate_warnings(result: ModelResult) -> Iterator[str]:
    """Yield what a covariate did to each change, whether scenarios move it, and what a small move of it would do."""
    if result.adjusted is None:
        return
    names = " and ".join(result.adjusted.covariates)
    plain = {one.subject: one for one in effects(result.adjusted.without)}
    for one in effects(result):
        if one.subject in plain:
            raw = plain[one.subject]
            yield f"Without {names}: {raw.sentence} With it the change is shifted by {_shift(result, one, raw)}."
    for name, p in result.adjusted.moved.items():
        yield _moved_text(name, p)
    for name, bound in result.adjusted.bounds.items():
        yield f"If a configuration moved {name} by 2 %, its change would be off by {_off(result, bound)}."


def _shift(result: ModelResult, one: Effect, raw: Effect) -> str:
    return amount(result, one.change - raw.change)


def _off(result: ModelResult, bound: float) -> str:
    return amount(result, abs(changed(result, bound))).removeprefix("+")


def _moved_text(name: str, p: float) -> str:
    if not np.isfinite(p):
        return f"Whether {name} depends on the scenario was not tested: it needs positive values in repeated rounds."
    stated = f"{name} by scenario, within blocks: p {p_value(p)}"
    if is_moved(p):
        why = "A covariate that scenarios move takes a part of their effects away"
        return f"{stated}. {why}: believe the changes without it."
    return f"{stated}. That shows no dependence, but few blocks find only large ones."


def _odd_row(row: SuspiciousRow, factors: FactorTable) -> str:
    where = ", ".join(f"{name} {factors.held(name, value)}" for name, value in row.identity.items())
    return f"row {row.row}{f' ({where})' if where else ''}, {row.why[0]}"


def _remedy_text(result: ModelResult, i: int) -> str:
    remedy = result.remedies[i]
    return ": ".join([*filter(None, [" and ".join(remedy.because)]), remedy.text])
