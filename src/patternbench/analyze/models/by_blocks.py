"""Least squares of a table of any size, by blocks of rows: estimates and their intervals, without a look at each row.

Of all rows only the triangle of a QR decomposition is kept. Each block of rows is put below the triangle and decomposed
together with it (Demmel and others, Communication-optimal parallel and sequential QR and LU factorizations, SIAM J.
Sci. Comput. 34, 2012). The triangle has every digit that a decomposition of the whole table has; sums of products
(X'X) would lose half of them. Columns are taken around their means in the first block, because a column near 1e9 would
leave no digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from scipy.linalg import solve_triangular

from patternbench.analyze.arrays import Floats, out_of_scale
from patternbench.analyze.blocks import Blocks
from patternbench.analyze.models.formula import (
    centres,
    independent_of,
    is_number,
    left_side,
    not_finite,
    right_side,
    text_problems,
    too_few_rows,
    too_wide,
    unknown_columns,
)
from patternbench.analyze.models.formula_text import Parsed, at, parse_formula
from patternbench.analyze.models.inference import LEAST_SQUARES, Coefficient, Inference
from patternbench.analyze.models.linear import Summary
from patternbench.terms.data_problems import DataError, DataProblem, Note, plural, raise_if_any

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Estimates:
    """Least squares of one response: what ``fit`` gives of it, but for what takes a look at each row."""

    formula: str
    response: str
    coefficients: tuple[Coefficient, ...]
    summary: Summary
    notes: tuple[Note, ...]


def estimates(table: Blocks, formula: str, level: float = 0.95) -> tuple[Estimates, ...]:
    """Estimate the coefficients of ``formula``, one result a response, with intervals at confidence ``level``.

    Rows with a missing or infinite value are left out, and so are columns that others explain; notes say so. Raises
    ``DataError`` where nothing can be estimated.
    """
    parsed = parse_formula(formula)
    raise_if_any(_formula_problems(parsed, table))
    seen = _first_look(parsed, table)
    spans = {name: len(levels) - 1 for name, levels in seen.levels.items()}
    raise_if_any(too_wide(parsed, spans))
    triangle = _triangle(parsed, table, seen.levels)
    return tuple(_solved(parsed, triangle, seen, level))


def _formula_problems(parsed: Parsed, table: Blocks) -> list[DataProblem]:
    """Say what cannot be read by blocks."""
    problems = unknown_columns(parsed, table)
    if not parsed.right:
        problems.append(DataProblem("names no factor: there is nothing to estimate.", at(parsed.text), "Add one."))
    if parsed.random is not None:
        what = "has a random part, which needs all rows at once."
        problems.append(DataProblem(what, at(parsed.text), "Leave it out, or leave out --estimates."))
    return problems


# --- first pass: which rows are complete, and which levels there are
# ----------------------------------------------------------------------------------------------------


@dataclass
class _FirstLook:
    """The levels of each category, the number of rows, and how many of them lack which column."""

    levels: dict[str, list[object]] = field(default_factory=dict)
    rows: int = 0
    lacking: dict[str, int] = field(default_factory=dict)
    incomplete: int = 0

    def notes(self) -> list[Note]:
        """Say which rows were left out."""
        if not self.incomplete:
            return []
        which = ", ".join(f"{name} lacks {plural(count, 'value')}" for name, count in self.lacking.items() if count)
        return [Note("missing", f"{plural(self.incomplete, 'row')} left out: {which}.")]


def _columns_read(parsed: Parsed) -> list[str]:
    return list(dict.fromkeys((*parsed.left, *parsed.right)))


def _first_look(parsed: Parsed, table: Blocks) -> _FirstLook:
    seen, levels = _FirstLook(), dict[str, set[object]]()
    for block in table.blocks(_columns_read(parsed)):
        raise_if_any(text_problems(parsed, block))
        bad = _bad_cells(block)
        complete = np.asarray(~bad.any(axis=1))
        seen.rows += len(block)
        seen.incomplete += int(bad.any(axis=1).sum())
        for place, name in enumerate(block.columns):
            seen.lacking[name] = seen.lacking.get(name, 0) + int(bad[:, place].sum())
        for name in _category_names(parsed, block):
            levels.setdefault(name, set()).update(block.loc[complete, name].unique())
    if seen.incomplete == seen.rows:
        raise DataError(DataProblem("no row is complete.", at(parsed.text)))
    seen.levels = {name: sorted(found, key=lambda v: (str(type(v)), v)) for name, found in levels.items()}
    return seen


def _category_names(parsed: Parsed, frame: pd.DataFrame) -> list[str]:
    return [name for name in parsed.right if name in parsed.categorical or not is_number(frame[name])]


def _bad_cells(frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which cells are missing or infinite."""
    cells = [
        ~np.isfinite(column.to_numpy(float, na_value=np.nan)) if is_number(column) else column.isna().to_numpy()
        for _, column in frame.items()
    ]
    return np.column_stack(cells)


# --- second pass: the triangle
# ----------------------------------------------------------------------------------------------------


def _triangle_of(rows: Floats) -> Floats:
    triangle: Floats = np.asarray(np.linalg.qr(rows, mode="r"))
    return triangle


@dataclass
class _Triangle:
    """The triangle of design and responses around ``shift``, with the names of the design's columns.

    ``squares`` are the sums of squares of the columns as they are.
    """

    columns: tuple[str, ...]
    shift: Floats
    kept: Floats
    squares: Floats
    rows: int = 0

    def add(self, both: Floats) -> None:
        """Add rows of design and responses, side by side."""
        self.rows += len(both)
        self.squares += np.einsum("ij,ij->j", both, both)
        self.kept = _triangle_of(np.vstack([self.kept, both - self.shift]))


def _triangle(parsed: Parsed, table: Blocks, levels: Mapping[str, Sequence[object]]) -> _Triangle:
    triangle: _Triangle | None = None
    for x, y, columns in _matrices(parsed, table, levels):
        both = np.hstack([x, y])
        if triangle is None:
            shift = np.concatenate([centres(x, columns), y.mean(axis=0) * (INTERCEPT in columns)])
            width = both.shape[1]
            triangle = _Triangle(columns, shift, np.empty((0, width)), np.zeros(width))
        triangle.add(both)
    assert triangle is not None  # a row is complete
    return triangle


def _matrices(
    parsed: Parsed, table: Blocks, levels: Mapping[str, Sequence[object]]
) -> Iterator[tuple[Floats, Floats, tuple[str, ...]]]:
    """Design and responses of each block with a complete row."""
    begin = 0
    for block in table.blocks(_columns_read(parsed)):
        kept = np.flatnonzero(~_bad_cells(block).any(axis=1))
        rows, begin = begin + kept, begin + len(block)
        if not len(kept):
            continue
        frame = block.iloc[kept].reset_index(drop=True)
        frame = frame.assign(**{n: pd.Categorical(frame[n].astype(object), list(own)) for n, own in levels.items()})
        x, columns, _ = right_side(parsed, frame)
        y = left_side(parsed, frame)
        raise_if_any(not_finite(x, columns, rows) + not_finite(y, parsed.responses, rows))
        raise_if_any(out_of_scale(x, columns) + out_of_scale(y, parsed.responses))
        yield x, y, columns


# --- what the triangle says
# ----------------------------------------------------------------------------------------------------


def _solved(parsed: Parsed, triangle: _Triangle, seen: _FirstLook, level: float) -> Iterator[Estimates]:
    width, columns = len(triangle.columns), triangle.columns
    centred, means = _around_means_of_all(triangle)
    keep, aliased = independent_of(centred[:, :width], np.sqrt(triangle.squares[:width]), columns, means[:width])
    raise_if_any(too_few_rows(parsed, triangle.rows, len(keep)))
    names = tuple(columns[i] for i in keep)
    last = _triangle_of(np.hstack([centred[:, keep], centred[:, width:]]))
    notes = (*seen.notes(), *aliased)
    for j, response in enumerate(parsed.responses):
        column = _ResponseColumn(last[:, len(keep) + j], float(means[width + j]), triangle.rows)
        r = last[: len(keep), : len(keep)]
        coefficients, summary = _estimates_of(r, column, names, means[keep], level)
        yield Estimates(parsed.text, response, coefficients, summary, notes)


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
