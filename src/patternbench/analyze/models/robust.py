"""Remedies for failed assumptions. Each is computed, not only recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from statsmodels.stats.sandwich_covariance import S_white_simple

from patternbench.analyze.models.crossval import undo_log
from patternbench.analyze.models.diagnostics import Test, anderson_darling_test, breusch_pagan_test, failed
from patternbench.analyze.models.formula_text import Random, ticked
from patternbench.analyze.models.inference import Coefficient, Inference
from patternbench.analyze.models.linear import ALONE, LinearFit, fit_linear, inflation
from patternbench.analyze.models.mixed import MixedFit, fit_mixed
from patternbench.analyze.models.structure import LEVELS, Structure
from patternbench.terms.arrays import Floats, Ints
from patternbench.terms.data_problems import plural

HC3 = "robust HC3 standard errors"
JACKKNIFE = "standard errors by leaving groups out"
_SINGULAR = 1e-8
_BENDING_LEVELS = 3
_FEW_DF = 4
_TOGETHER = 1024
"""Groups whose matrices are solved at once."""


@dataclass(frozen=True)
class Remedy:
    """The replacement of the plain result if an assumption fails.

    ``kind`` is hc3, jackknife, mixed_model, log_response, shape or none; ``because`` the failed tests; ``text`` says in
    words what was done and what it shows; ``coefficients`` are the replacement's, with its ``inference`` where it
    replaces the plain one on the same response; ``numbers`` holds what else it estimates; ``mixed`` a mixed model.
    """

    kind: str
    because: tuple[str, ...]
    text: str
    coefficients: tuple[Coefficient, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    inference: Inference | None = field(default=None, compare=False)
    mixed: MixedFit | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Grouping:
    """The column that groups rows, and whether the formula itself asks for a random part."""

    column: str | None
    requested: Random | None = None


def remedies(
    fit: LinearFit, tests: Sequence[Test], structure: Structure, table: pd.DataFrame, grouping: Grouping
) -> tuple[Remedy, ...]:
    """Compute the remedies that the failed ``tests`` of ``fit`` call for; none when all hold."""
    made: list[Remedy] = []
    if crooked := failed(tests, "shape"):
        made.append(_shape_remedy(fit, crooked))
    made += _spread_remedies(fit, tests, structure, table, grouping)
    if skewed := failed(tests, "normality"):
        made.append(_log_remedy(fit, skewed))
    return tuple(made)


def _spread_remedies(
    fit: LinearFit, tests: Sequence[Test], structure: Structure, table: pd.DataFrame, grouping: Grouping
) -> list[Remedy]:
    """Replace the standard errors where rows depend on each other or their spread is unequal; by one method only."""
    unequal, dependent = failed(tests, "equal_variance"), failed(tests, "independence")
    group = grouping.column
    order = [_order_remedy(dependent)] if dependent and not (structure.grouped or grouping.requested) else []
    if group is not None and (structure.grouped or structure.crossed or grouping.requested):
        by_group = _group_remedy(fit, dependent, structure, table[group].iloc[fit.design.rows], grouping)
        if by_group is not None:
            return [*order, by_group]
    return [*order, _hc3_remedy(fit, unequal)] if unequal else order


def _shape_remedy(fit: LinearFit, because: Sequence[Test]) -> Remedy:
    design = fit.design
    bent = [name for name in design.ranges if design.frame[name].nunique() >= _BENDING_LEVELS]
    tries = [f"I({ticked(name)}**2), log({ticked(name)}) or C({ticked(name)})" for name in bent[:1]]
    crossing = "an interaction (a:b)" if len(design.parsed.right) > 1 else ""
    text = (
        "The shape of the formula does not fit: rows with equal factor values lie nearer to their own mean than to the "
        f"model. Try {' or '.join([*tries, *([crossing] if crossing else [])]) or 'other terms'}."
    )
    return Remedy("shape", _names(because), text)


# --- unequal variance
# ----------------------------------------------------------------------------------------------


def hc3(fit: LinearFit) -> Inference:
    """Return the coefficients of ``fit`` with the covariance HC3, for unequal spread (MacKinnon & White 1985).

    A row that alone determines a coefficient has no residual and adds nothing.
    """
    free = np.where(fit.leverage < ALONE, 1 - fit.leverage, np.inf)
    core = S_white_simple(fit.basis.q * (fit.residuals / free)[:, None])
    return Inference(HC3, fit.beta, fit.basis.r_inverse, core, fit.summary.df_residual)


def _hc3_remedy(fit: LinearFit, because: Sequence[Test]) -> Remedy:
    robust = hc3(fit)
    coefficients = robust.coefficients(fit.design, fit.level, inflation(fit.design))
    changed = _changed_verdicts(fit.coefficients, coefficients)
    text = "The spread of the residuals depends on the factors, so robust (HC3) standard errors replace the plain ones."
    text += f" They change the verdict on {', '.join(changed)}." if changed else " They change no verdict."
    return Remedy("hc3", _names(because), text, coefficients, inference=robust)


def _changed_verdicts(plain: Sequence[Coefficient], robust: Sequence[Coefficient]) -> list[str]:
    return [
        a.name
        for a, b in zip(plain, robust, strict=True)
        if (a.ci_low > 0 or a.ci_high < 0) != (b.ci_low > 0 or b.ci_high < 0)
    ]


def _names(tests: Sequence[Test]) -> tuple[str, ...]:
    return tuple(test.name for test in tests)


# --- crooked residuals
# ---------------------------------------------------------------------------------------------


_LEAN = (
    "Intervals of the coefficients rely on the number of rows; prediction intervals use the residuals on unseen "
    "scenarios."
)


def _log_remedy(fit: LinearFit, because: Sequence[Test]) -> Remedy:
    if why := _no_log(fit):
        text = f"The residuals are not normal. The log of {fit.response} cannot help: {why}. {_LEAN}"
        return Remedy("none", _names(because), text)
    logged = _on_log(fit)
    before, after = anderson_darling_test(fit.residuals), anderson_darling_test(logged.residuals)
    text = (
        f"The residuals are not normal. {_log_verdict(fit.design.parsed.log_of(fit.response), before, after)} {_LEAN}"
    )
    return Remedy("log_response", _names(because), text, logged.coefficients, _log_numbers(logged, after))


def _no_log(fit: LinearFit) -> str:
    if undo_log(fit.response)[1] is not None:
        return "it is a log already"
    return "" if (fit.y > 0).all() else "it is not positive in every row"


def _log_verdict(log: str, before: Test, after: Test) -> str:
    old, new = before.statistic or 0.0, after.statistic or 0.0
    if new >= old:
        return f"With {log} they aren't closer to it ({old:.3g} becomes {new:.3g}): keep the plain response."
    return f"With {log} they are closer to it ({old:.3g} becomes {new:.3g}): prefer it, '{log} ~ ...'."


def _log_numbers(logged: LinearFit, after: Test) -> dict[str, float]:
    return {
        "adj_r2": logged.summary.adj_r2,
        "anderson_darling": after.statistic or 0.0,
        "anderson_darling_p": after.p or 0.0,
    }


def _on_log(fit: LinearFit) -> LinearFit:
    """Fit the log of the response on the same design, whose decomposition is at hand."""
    parsed = replace(fit.design.parsed, responses=(fit.design.parsed.log_of(fit.response),))
    design = replace(fit.design, parsed=parsed, y=np.log(fit.y)[:, None])
    return fit_linear(design, fit.basis, 0, fit.level)


# --- dependent residuals
# -------------------------------------------------------------------------------------------


def leave_groups_out(fit: LinearFit, groups: pd.Series) -> Inference | None:
    """Return the coefficients of ``fit`` with a covariance from leaving out one group at a time, t with groups - 1.

    (G - 1) / G sum (b_-g - b)(b_-g - b)' is right for any spread within a group and its correlations (Bell &
    McCaffrey 2002, the jackknife CR3). None when a coefficient cannot be estimated without some group.
    """
    codes, names = pd.factorize(groups.to_numpy())
    whole, count = fit.basis.q.T @ fit.y, len(names)
    core = np.zeros((len(whole), len(whole)))
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    for begin in range(0, count, _TOGETHER):
        products = np.array([_products(fit, own) for own in rows[begin : begin + _TOGETHER]])
        normal = np.eye(len(whole)) - products[:, :, :-1]
        if float(np.linalg.eigvalsh(normal).min()) < _SINGULAR:
            return None
        rest = whole - products[:, :, -1]
        moved = np.linalg.solve(normal, rest[:, :, None])[:, :, 0] - whole
        core += moved.T @ moved * (count - 1) / count
    return Inference(JACKKNIFE, fit.beta, fit.basis.r_inverse, core, count - 1)


def _products(fit: LinearFit, rows: Ints) -> Floats:
    """Return q'q and q'y of some rows, side by side (p x (p + 1))."""
    q = fit.basis.q[rows]
    return np.column_stack([q.T @ q, q.T @ fit.y[rows]])


def _order_remedy(because: Sequence[Test]) -> Remedy:
    text = (
        "Rows that ran next to each other resemble each other beyond what groups explain, so the standard errors are "
        "too small. Add what changed over time to the formula, or name the column that groups rows (--group block)."
    )
    return Remedy("none", _names(because), text)


def _group_remedy(
    fit: LinearFit, because: Sequence[Test], structure: Structure, groups: pd.Series, grouping: Grouping
) -> Remedy | None:
    """Judge effects over groups; None where no test asks for it, and they cannot be left out one at a time."""
    # Where the rows of a group repeat each other, a mixed model has no variance to find within groups.
    repeated = bool(np.ptp(structure.within) <= _SINGULAR * np.ptp(fit.residuals))
    spread = (*(() if repeated else (breusch_pagan_test(structure.within, fit.basis.q),)), *structure.tests)
    wrong = (*failed(spread, "equal_variance"), *failed(spread, "shape"), *structure.uneven)
    judged = (wrong or repeated or structure.crossed) and grouping.requested is None
    left_out = leave_groups_out(fit, groups) if judged else None
    if left_out is not None:
        why = _likeness(repeated, wrong, structure, grouping)
        return _jackknife_remedy(fit, left_out, _names([*because, *wrong]) or (LEVELS,), why, grouping)
    if structure.grouped or grouping.requested:
        return _mixed_remedy(fit, because, structure, groups, grouping)
    return None


def _jackknife_remedy(
    fit: LinearFit, left_out: Inference, because: Sequence[str], why: str, grouping: Grouping
) -> Remedy:
    text = (
        f"{why}, so the standard errors come from leaving out each {grouping.column} in turn (t with "
        f"{plural(int(left_out.df), 'degree')} of freedom)."
    )
    if left_out.df < _FEW_DF:
        groups = plural(int(left_out.df) + 1, grouping.column or "group")
        text += f" With {groups} only large effects can be told from none."
    coefficients = left_out.coefficients(fit.design, fit.level, inflation(fit.design))
    numbers = {"groups": left_out.df + 1}
    return Remedy("jackknife", tuple(dict.fromkeys(because)), text, coefficients, numbers, left_out)


def _likeness(repeated: bool, wrong: Sequence[Test], structure: Structure, grouping: Grouping) -> str:
    """Say why effects are judged over groups."""
    if not (repeated or wrong or structure.grouped):
        return f"A {grouping.column} may act on each level of {' and '.join(structure.crossed)} in its own way"
    texts = {
        "equal_variance": "the spread depends on the factors",
        "shape": "the shape does not fit",
        "independence": "a category acts on them differently",
    }
    alike = "repeat each other" if repeated else "may resemble each other"
    reasons = " and ".join([texts[test.assumption] for test in wrong])
    likeness = ", and ".join([alike, *([reasons] if reasons else [])])
    return f"Rows of a {grouping.column} {likeness}"


def _mixed_remedy(
    fit: LinearFit, because: Sequence[Test], structure: Structure, groups: pd.Series, grouping: Grouping
) -> Remedy:
    slopes = grouping.requested.slopes if grouping.requested else structure.slopes
    try:
        mixed = fit_mixed(fit, fit.basis, groups, slopes)
    except (np.linalg.LinAlgError, ValueError):
        text = f"Rows of a {grouping.column} resemble each other, but no mixed model can be fitted to them."
        return Remedy("none", _names(because), text)
    coefficients = mixed.inference.coefficients(fit.design, fit.level, {})
    text = _mixed_text(mixed, grouping)
    return Remedy("mixed_model", _names(because), text, coefficients, _mixed_numbers(mixed), mixed.inference, mixed)


def _mixed_text(mixed: MixedFit, grouping: Grouping) -> str:
    why = "The formula asks for it" if grouping.requested else f"Rows of a {grouping.column} resemble each other"
    own = f" and its own slope of {' and '.join(mixed.slopes)}" if mixed.slopes else ""
    return (
        f"{why}, so a mixed model gives every {grouping.column} its own level{own}: {mixed.share:.0%} of the residual "
        f"variance lies between the {mixed.groups} levels of {grouping.column}."
    )


def _mixed_numbers(mixed: MixedFit) -> dict[str, float]:
    slopes = {
        f"{name}_sd": float(np.sqrt(v)) for name, v in zip(mixed.slopes, np.diag(mixed.between)[1:], strict=False)
    }
    return {
        "group_sd": float(np.sqrt(mixed.between[0, 0])),
        "residual_sd": float(np.sqrt(mixed.within)),
        "share": mixed.share,
        "groups": float(mixed.groups),
        "marginal_r2": mixed.explained,
        "log_likelihood": mixed.log_likelihood,
        **slopes,
    }
