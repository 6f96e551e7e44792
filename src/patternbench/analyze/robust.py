"""What to use when an assumption fails: each remedy is computed, not only recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy import optimize, stats

from .crossval import undo_log
from .diagnostics import Test, anderson_darling_test, failed
from .formula import Floats, build_design
from .linear import Coefficient, LinearFit, coefficient_table, coefficients_of, factorize, fit_linear

_FEW_GROUPS = 3


@dataclass(frozen=True)
class Remedy:
    """What replaces the plain result when an assumption fails.

    `kind` is hc3, log_response, mixed_model or none; `because` the failed tests; `text` says in words what
    was done and what it shows; `coefficients` are the replacement's, with their `covariance` where they replace
    the plain ones on the same response; `numbers` holds what else it estimates.
    """

    kind: str
    because: tuple[str, ...]
    text: str
    coefficients: tuple[Coefficient, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    covariance: Floats | None = field(default=None, compare=False)


def remedies(fit: LinearFit, tests: Sequence[Test], table: pd.DataFrame, group: str | None) -> tuple[Remedy, ...]:
    """Compute the remedies that the failed `tests` of `fit` call for; none when all hold."""
    found: list[Remedy] = []
    if unequal := failed(tests, "equal_variance"):
        found.append(_hc3_remedy(fit, unequal))
    if crooked := failed(tests, "normality"):
        found.append(_log_remedy(fit, crooked, table))
    if dependent := failed(tests, "independence"):
        found.append(_mixed_remedy(fit, dependent, table, group))
    return tuple(_ranked(found))


def _ranked(found: list[Remedy]) -> list[Remedy]:
    """Say of two remedies that both replace the plain standard errors which one the words and the table use."""
    if not any(one.kind == "mixed_model" for one in found):
        return found
    used = " The words and the table use the mixed model instead."
    return [replace(one, text=one.text + used) if one.kind == "hc3" else one for one in found]


# --- unequal variance
# ----------------------------------------------------------------------------------------------


def hc3_covariance(fit: LinearFit) -> Floats:
    """Return the heteroscedasticity-consistent covariance HC3 of the coefficients (MacKinnon & White 1985).

    (X'X)^-1 X' diag(e^2 / (1 - h)^2) X (X'X)^-1. A row with leverage 1 has residual 0 and adds nothing.
    """
    scaled = fit.residuals / np.clip(1 - fit.leverage, 1e-12, None)
    middle = fit.design.x * scaled[:, None]
    half: Floats = middle @ fit.bread
    return half.T @ half


def hc3_coefficients(fit: LinearFit) -> tuple[Coefficient, ...]:
    """Return the coefficients of `fit` with HC3 standard errors."""
    return _with_covariance(fit, hc3_covariance(fit))


def _with_covariance(fit: LinearFit, covariance: Floats) -> tuple[Coefficient, ...]:
    errors = np.sqrt(np.diag(covariance))
    return coefficient_table(fit.design, fit.beta, errors, fit.summary.df_residual, fit.level)


def _hc3_remedy(fit: LinearFit, because: Sequence[Test]) -> Remedy:
    covariance = hc3_covariance(fit)
    robust = _with_covariance(fit, covariance)
    changed = _changed_verdicts(fit.coefficients, robust)
    text = "The spread of the residuals depends on the factors, so robust (HC3) standard errors replace the plain ones."
    text += f" They change the verdict on {', '.join(changed)}." if changed else " They change no verdict."
    return Remedy("hc3", _names(because), text, robust, covariance=covariance)


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


def _log_remedy(fit: LinearFit, because: Sequence[Test], table: pd.DataFrame) -> Remedy:
    if why := _no_log(fit):
        text = f"The residuals are not normal. The log of {fit.response} cannot help: {why}. {_LEAN}"
        return Remedy("none", _names(because), text)
    logged = _on_log(fit, table)
    before, after = anderson_darling_test(fit.residuals), anderson_darling_test(logged.residuals)
    text = f"The residuals are not normal. {_log_verdict(fit.response, before, after)} {_LEAN}"
    return Remedy("log_response", _names(because), text, logged.coefficients, _log_numbers(logged, after))


def _no_log(fit: LinearFit) -> str:
    if undo_log(fit.response)[1] is not None:
        return "it is a log already"
    return "" if (fit.y > 0).all() else "it is not positive in every row"


def _log_verdict(response: str, before: Test, after: Test) -> str:
    old, new = before.statistic or 0.0, after.statistic or 0.0
    if new >= old:
        return f"With log({response}) they are no closer to it ({old:.3g} becomes {new:.3g}): keep the plain response."
    return (
        f"With log({response}) they are closer to it ({old:.3g} becomes {new:.3g}): prefer it, 'log({response}) ~ ...'."
    )


def _log_numbers(logged: LinearFit, after: Test) -> dict[str, float]:
    return {
        "adj_r2": logged.summary.adj_r2,
        "anderson_darling": after.statistic or 0.0,
        "anderson_darling_p": after.p or 0.0,
    }


def _on_log(fit: LinearFit, table: pd.DataFrame) -> LinearFit:
    right = fit.design.parsed.text.split("~")[1]
    design = build_design(f"log({fit.response}) ~ {right}", table.iloc[fit.design.rows])
    return fit_linear(design, factorize(design), 0, fit.level)


# --- dependent residuals
# -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MixedFit:
    """A linear model with a random intercept per group, by restricted maximum likelihood.

    `share` is the intraclass correlation: the part of the residual variance that rows of a group have in
    common.
    """

    beta: Floats
    covariance: Floats
    group_sd: float
    residual_sd: float
    groups: int
    log_likelihood: float

    @property
    def errors(self) -> Floats:
        """Standard errors of the coefficients."""
        found: Floats = np.sqrt(np.diag(self.covariance))
        return found

    @property
    def share(self) -> float:
        """Intraclass correlation, 0 to 1."""
        return self.group_sd**2 / (self.group_sd**2 + self.residual_sd**2)


def fit_random_intercept(y: Floats, x: Floats, groups: Floats | pd.Series) -> MixedFit:
    """Fit y = x b + u[group] + e with u ~ N(0, s_u^2), e ~ N(0, s^2) by REML (Laird & Ware 1982).

    With theta = s_u^2 / s^2 the inverse of each group's covariance is I - theta / (1 + n theta) 11', so
    that only the groups' sums of x and y are needed and the likelihood is profiled to theta alone: 10^6
    rows take a moment.
    """
    sums = _GroupSums.of(y, x, groups)
    found = optimize.minimize_scalar(
        lambda t: -sums.reml(np.exp(t)), bounds=(-16.0, 10.0), method="bounded", options={"xatol": 1e-7}
    )
    theta = float(np.exp(found.x)) if sums.reml(float(np.exp(found.x))) > sums.reml(0.0) else 0.0
    normal, beta, variance = sums.solve(theta)
    return MixedFit(
        beta,
        np.asarray(np.linalg.inv(normal) * variance, dtype=np.float64),
        float(np.sqrt(theta * variance)),
        float(np.sqrt(variance)),
        len(sums.sizes),
        sums.reml(theta),
    )


@dataclass(frozen=True)
class _GroupSums:
    xx: Floats
    xy: Floats
    yy: float
    x_sums: Floats
    y_sums: Floats
    sizes: Floats

    @staticmethod
    def of(y: Floats, x: Floats, groups: Floats | pd.Series) -> _GroupSums:
        codes, names = pd.factorize(pd.Series(groups))
        sums = [np.bincount(codes, weights=column, minlength=len(names)) for column in x.T]
        totals = np.column_stack(sums).astype(np.float64)
        y_sums = np.asarray(np.bincount(codes, weights=y, minlength=len(names)), dtype=np.float64)
        sizes = np.asarray(np.bincount(codes), dtype=np.float64)
        return _GroupSums(x.T @ x, x.T @ y, float(y @ y), totals, y_sums, sizes)

    def solve(self, theta: float) -> tuple[Floats, Floats, float]:
        shrink = theta / (1 + self.sizes * theta)
        normal = self.xx - (self.x_sums * shrink[:, None]).T @ self.x_sums
        right = self.xy - self.x_sums.T @ (shrink * self.y_sums)
        beta = np.asarray(np.linalg.solve(normal, right), dtype=np.float64)
        rest = self.yy - float(shrink @ self.y_sums**2) - float(beta @ right)
        return normal, beta, max(rest, 1e-300) / float(self.sizes.sum() - len(beta))

    def reml(self, theta: float) -> float:
        normal, _, variance = self.solve(theta)
        free = self.sizes.sum() - len(normal)
        spread = np.log1p(self.sizes * theta).sum() + np.linalg.slogdet(normal)[1]
        return float(-0.5 * (free * np.log(variance) + spread + free * (1 + np.log(2 * np.pi))))


def _mixed_remedy(fit: LinearFit, because: Sequence[Test], table: pd.DataFrame, group: str | None) -> Remedy:
    if group is None:
        text = (
            "Neighbouring rows resemble each other; without a column that groups them (--group "
            "block) the standard errors are too small."
        )
        return Remedy("none", _names(because), text)
    groups = table[group].iloc[fit.design.rows]
    if groups.nunique() < _FEW_GROUPS or groups.nunique() == len(groups):
        text = (
            f"Neighbouring rows resemble each other, but {group} has {groups.nunique()} levels "
            f"in {len(groups)} rows: too few or too many for a random effect."
        )
        return Remedy("none", _names(because), text)
    mixed = fit_random_intercept(fit.y, fit.design.x, groups)
    text = (
        f"Neighbouring rows resemble each other, so a mixed model gives every {group} its own level: "
        f"{mixed.share:.0%} of the residual variance lies between the {mixed.groups} levels of {group}."
    )
    coefficients = _mixed_coefficients(fit, mixed)
    return Remedy("mixed_model", _names(because), text, coefficients, _mixed_numbers(mixed), mixed.covariance)


def _mixed_numbers(mixed: MixedFit) -> dict[str, float]:
    return {
        "group_sd": mixed.group_sd,
        "residual_sd": mixed.residual_sd,
        "share": mixed.share,
        "groups": float(mixed.groups),
    }


def _mixed_coefficients(fit: LinearFit, mixed: MixedFit) -> tuple[Coefficient, ...]:
    margin = float(stats.norm.ppf(0.5 + fit.level / 2)) * mixed.errors
    z = mixed.beta / mixed.errors
    p = 2 * stats.norm.sf(np.abs(z))
    table = np.column_stack([mixed.beta, mixed.errors, mixed.beta - margin, mixed.beta + margin, z, p])
    return coefficients_of(fit.design.columns, table, {})
