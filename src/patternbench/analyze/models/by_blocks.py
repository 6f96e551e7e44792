"""Least squares of a table of any size, by blocks of rows: estimates and their intervals, without a look at each row.

Of all rows only the triangle of a QR decomposition is kept. Each block of rows is put below the triangle and decomposed
together with it (``decomposition``). Columns are taken around their means in the first block, because a column near 1e9
would leave no digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular

from patternbench.analyze.arrays import out_of_scale
from patternbench.analyze.blocks import Blocks
from patternbench.analyze.models.decomposition import triangle_of
from patternbench.analyze.models.first_look import MOST_LEVELS, FirstLook, first_look
from patternbench.analyze.models.formula import (
    centres,
    independent_of,
    left_side,
    names_as_responses,
    not_finite,
    nothing_left,
    response_problems,
    right_side,
    too_few_rows,
    too_wide,
    unknown_columns,
)
from patternbench.analyze.models.formula_text import Parsed, at, parse_formula, ticked
from patternbench.analyze.models.inference import LEAST_SQUARES, Coefficient, Inference
from patternbench.analyze.models.linear import Summary
from patternbench.analyze.threads import one_thread
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataProblem, Note, raise_if_any
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Estimates:
    """Least squares of one response: what ``fit`` gives of it, but for what takes a look at each row.

    ``references`` are the levels that those of a category are compared with.
    """

    formula: str
    response: str
    coefficients: tuple[Coefficient, ...]
    summary: Summary
    references: Mapping[str, object]
    notes: tuple[Note, ...]


def estimates(
    table: Blocks, formula: str, level: float = 0.95, factors: FactorTable = NOTHING_KNOWN
) -> tuple[Estimates, ...]:
    """Estimate the coefficients of ``formula``, one result a response, with intervals at confidence ``level``.

    ``factors`` are known of the table's columns. The model is that of ``build_design``: rows with a missing or infinite
    value, constant terms, and columns that others explain are left out; notes say so. Raises ``DataError`` where
    nothing can be estimated.
    """
    parsed = parse_formula(formula)
    raise_if_any(_formula_problems(parsed, table))
    look = first_look(parsed, table, factors)
    spans = {name: len(levels) - 1 for name, levels in look.levels.items()}
    raise_if_any(too_wide(look.parsed, spans, at_least=max(spans.values(), default=0) >= MOST_LEVELS))
    with one_thread():
        return tuple(_solved(look, _triangle(look, table), level))


def _formula_problems(parsed: Parsed, table: Blocks) -> list[DataProblem]:
    """Say what cannot be read by blocks."""
    problems = unknown_columns(parsed, table)
    if not parsed.right:
        problems.append(DataProblem("names no factor: there is nothing to estimate.", at(parsed.text), "Add one."))
    if parsed.random is not None:
        what = "has a random part, which needs all rows at once."
        problems.append(DataProblem(what, at(parsed.text), "Leave it out, or leave out --estimates."))
    return problems


# --- the triangle
# ----------------------------------------------------------------------------------------------------


@dataclass
class _Triangle:
    """The triangle of design and responses around ``shift``, with the names of the design's columns.

    Of the columns as they are, ``squares`` are the sums of squares, ``low`` and ``high`` the least and largest values.
    """

    columns: tuple[str, ...]
    shift: Floats
    kept: Floats
    squares: Floats
    low: Floats
    high: Floats
    rows: int = 0

    def add(self, both: Floats) -> None:
        """Add rows of design and responses, side by side."""
        self.rows += len(both)
        self.squares += np.einsum("ij,ij->j", both, both)
        self.low, self.high = np.minimum(self.low, both.min(axis=0)), np.maximum(self.high, both.max(axis=0))
        self.kept = triangle_of(np.vstack([self.kept, triangle_of(both, self.shift)]))


def _triangle(look: FirstLook, table: Blocks) -> _Triangle:
    triangle: _Triangle | None = None
    for x, y, columns in _matrices(look, table):
        both = np.hstack([x, y])
        if triangle is None:
            shift = np.concatenate([centres(x.mean(axis=0), columns), y.mean(axis=0) * (INTERCEPT in columns)])
            width = both.shape[1]
            zeros, ends = np.zeros(width), np.full(width, np.inf)
            triangle = _Triangle(columns, shift, np.empty((0, width)), zeros, ends, -ends)
        triangle.add(both)
    assert triangle is not None  # a row is complete
    return triangle


def _matrices(look: FirstLook, table: Blocks) -> Iterator[tuple[Floats, Floats, tuple[str, ...]]]:
    """Design and responses of each block with a complete row."""
    parsed = look.parsed
    for frame, rows in look.complete(table):
        x, columns, _ = right_side(parsed, frame)
        y = left_side(parsed, frame)
        raise_if_any(names_as_responses(y, parsed))
        raise_if_any(not_finite(x, columns, rows) + not_finite(y, parsed.responses, rows))
        raise_if_any(out_of_scale(x, columns) + out_of_scale(y, parsed.responses))
        yield x, y, columns


# --- what the triangle says
# ----------------------------------------------------------------------------------------------------


def _solved(look: FirstLook, triangle: _Triangle, level: float) -> Iterator[Estimates]:
    parsed, width, columns = look.parsed, len(triangle.columns), triangle.columns
    ends = zip(triangle.low[width:].tolist(), triangle.high[width:].tolist(), strict=True)
    raise_if_any(response_problems(dict(zip(parsed.responses, ends, strict=True)), triangle.rows))
    centred, means = _around_means_of_all(triangle)
    keep, aliased = independent_of(centred[:, :width], np.sqrt(triangle.squares[:width]), columns, means[:width])
    raise_if_any(nothing_left(parsed, keep, columns, aliased))
    raise_if_any(too_few_rows(parsed, triangle.rows, len(keep)))
    names = tuple(columns[i] for i in keep)
    last = triangle_of(np.hstack([centred[:, keep], centred[:, width:]]))
    notes, references = (*look.notes, *aliased), _references(look, names)
    for j, response in enumerate(parsed.responses):
        column = _ResponseColumn(last[:, len(keep) + j], float(means[width + j]), triangle.rows)
        r = last[: len(keep), : len(keep)]
        coefficients, summary = _estimates_of(r, column, names, means[keep], level)
        yield Estimates(parsed.text, response, coefficients, summary, references, notes)


def _references(look: FirstLook, columns: Sequence[str]) -> dict[str, object]:
    """Return the first level of each category whose other levels alone have columns."""
    return {
        name: look.levels[name][0]
        for name in look.parsed.right
        if name in look.levels and any(_compares(name, column) for column in columns)
    }


def _compares(name: str, column: str) -> bool:
    """Whether a column of the design compares a level of a category with its reference."""
    written = "|".join(map(re.escape, (name, f"C({ticked(name)})")))
    return re.search(rf"(?:^|:)(?:{written})\[T\.", column) is not None


def _around_means_of_all(triangle: _Triangle) -> tuple[Floats, Floats]:
    """Return the triangle around the means of all rows, and the means; around zero in a design without an intercept."""
    kept, means = triangle.kept.copy(), triangle.shift.copy()
    if INTERCEPT in triangle.columns:
        place = triangle.columns.index(INTERCEPT)
        others = np.arange(kept.shape[1]) != place
        length = float(kept[:, place] @ kept[:, place])
        extra = (kept[:, place] @ kept[:, others]) / length
        kept[:, others] -= np.outer(kept[:, place], extra)
        means[others] += extra
    return kept, means


@dataclass(frozen=True)
class _ResponseColumn:
    """The column of a response in the triangle, its mean, and the number of rows."""

    column: Floats
    mean: float
    rows: int


def _estimates_of(
    r: Floats, response: _ResponseColumn, names: tuple[str, ...], means: Floats, level: float
) -> tuple[tuple[Coefficient, ...], Summary]:
    """Coefficients and summary of a response; ``r`` is the triangle of the kept columns, around ``means``."""
    width = len(names)
    root = solve_triangular(r, np.eye(width))
    beta = root @ response.column[:width]
    if INTERCEPT in names:
        place = names.index(INTERCEPT)
        away = np.where(np.arange(width) == place, 0.0, means)
        beta[place] += response.mean - away @ beta
        root[place] -= away @ root
    summary = _summary_of(response, width, INTERCEPT in names)
    inference = Inference(LEAST_SQUARES, beta, root, np.eye(width) * summary.sigma**2, summary.df_residual)
    return inference.laid_out(names, level, _inflation_by_triangle(r, names)), summary


def _summary_of(response: _ResponseColumn, width: int, intercept: bool) -> Summary:
    """Return the summary of ``lm``: the variance counts as a parameter in AIC and BIC."""
    n, column = response.rows, response.column
    rss, tss = float(column[width:] @ column[width:]), float(column @ column)
    df_model, df = width - int(intercept), n - width
    f = (tss - rss) / df_model / (rss / df) if rss > 0 and df_model else np.inf
    likelihood = -0.5 * n * (np.log(2 * np.pi) + np.log(max(rss, np.finfo(float).tiny) / n) + 1)
    return Summary(
        n=n,
        df_model=df_model,
        df_residual=df,
        r2=1 - rss / tss,
        adj_r2=1 - (rss / df) / (tss / (n - int(intercept))),
        f=float(f),
        f_p=float(stats.f.sf(f, df_model, df)),
        aic=float(-2 * likelihood + 2 * (width + 1)),
        bic=float(-2 * likelihood + np.log(n) * (width + 1)),
        log_likelihood=float(likelihood),
        sigma=float(np.sqrt(rss / df)),
    )


def _inflation_by_triangle(r: Floats, names: tuple[str, ...]) -> dict[str, float]:
    """Return the variance inflation factor of every column but the intercept, by the triangle around the means."""
    inner = [i for i, name in enumerate(names) if name != INTERCEPT]
    if not inner or INTERCEPT not in names:
        return {}
    columns = r[:, inner]
    scaled = columns / np.linalg.norm(columns, axis=0)
    inflated = np.diag(np.linalg.inv(scaled.T @ scaled))
    return dict(zip((names[i] for i in inner), map(float, inflated), strict=True))
