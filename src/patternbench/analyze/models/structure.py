"""Tests of what a linear model leaves out: curvature, groups of rows, slopes that differ between groups, run order.

Curvature is looked for first. Where the formula's shape does not fit, what it misses would look like dependence, so
dependence is then sought around the means of the factors' combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from patternbench.analyze.arrays import Floats
from patternbench.analyze.models.diagnostics import Test, ljung_box_test
from patternbench.analyze.models.formula import DesignMatrix
from patternbench.analyze.models.linear import Factorization, LinearFit, exact_fit_note

#: The column of a run's table that says when a round ran.
RUN_ORDER = "started"
#: A random effect needs this many groups.
FEWEST_GROUPS = 3
_TWO = 2
_MOST_CELLS = 200
_OWN = 1e-8
_Codes = npt.NDArray[np.int64]
_Rest = tuple[Floats, int]
_Base = Literal["model", "means"]
"""What dependence is sought around: the model, or the means of the factors' combinations."""


@dataclass(frozen=True)
class _Rests:
    """What a larger model leaves of every response (q x n), and its degrees of freedom."""

    left: Floats
    df: int

    def of(self, response: int) -> _Rest:
        """Return what it leaves of one response."""
        return self.left[response], self.df


@dataclass(frozen=True)
class Surroundings:
    """What the tests of all responses of a design share, each part computed once when it is first asked for.

    ``group`` names the column that groups rows.
    """

    design: DesignMatrix
    basis: Factorization
    table: pd.DataFrame
    group: str | None
    _kept: dict[tuple[str, _Base], list[tuple[str, _Rests]]] = field(default_factory=dict)

    @cached_property
    def cells(self) -> _Codes:
        """The number of each row's combination of factor values."""
        return _combinations([self.design.frame[name] for name in self.design.parsed.right])

    @cached_property
    def codes(self) -> _Codes | None:
        """The number of each row's group."""
        return _groups(self.design, self.table, self.group)

    @cached_property
    def categories(self) -> list[tuple[str, _Codes]]:
        """The categories that vary within groups, as the number of each row's level."""
        return [] if self.codes is None else list(_categories(self.design, self.codes))

    def base(self, kind: _Base) -> Floats | None:
        """Return the orthonormal columns to look around; None where they are too many to hold."""
        return self.basis.q if kind == "model" else _around_means(self.cells)

    def rests(self, what: str, kind: _Base, codes: _Codes, base: Floats) -> list[tuple[str, _Rests]]:
        """Return what GROUPS, ``SLOPES`` or ``LEVELS`` leave of all responses, for each factor that may have them."""
        if (what, kind) not in self._kept:
            self._kept[what, kind] = list(_RESTS[what](self, codes, np.asfortranarray(base)))
        return self._kept[what, kind]


@dataclass(frozen=True)
class Structure:
    """The tests, the factors whose slopes differ between groups, and the residuals (n) within groups and slopes.

    ``crossed`` names the factors that vary within groups and whose effects may differ between them.
    """

    tests: tuple[Test, ...]
    slopes: tuple[str, ...]
    within: Floats
    crossed: tuple[str, ...] = ()

    @property
    def grouped(self) -> bool:
        """Whether rows of a group resemble each other, or its slopes or the effects of its categories differ."""
        return any(test.holds is False and test.name in (GROUPS, SLOPES, LEVELS) for test in self.tests)

    @property
    def uneven(self) -> tuple[Test, ...]:
        """The test that found a category's effects to differ between groups, if one did."""
        return tuple(test for test in self.tests if test.holds is False and test.name == LEVELS)


LACK_OF_FIT, GROUPS, SLOPES, LEVELS = "Lack of fit", "Groups", "Slopes of groups", "Levels by group"


def structure_tests(fit: LinearFit, around: Surroundings) -> Structure:
    """Test the shape of ``fit``, then the independence of its rows by groups and by the order of the run."""
    if exact_fit_note(fit):
        return Structure((), (), fit.residuals)
    shape = lack_of_fit_test(fit, around.cells)
    kind: _Base = "means" if shape.holds is False else "model"
    by_group = _untested(fit) if around.codes is None else _group_tests(fit, around, kind, around.codes)
    crossed = () if around.codes is None else _crossed(around.categories, around.codes)
    tests = (shape, *by_group.tests, *_order_test(fit, around.base(kind), around.table))
    return Structure(tests, by_group.slopes, by_group.within, crossed)


@dataclass(frozen=True)
class _Groups:
    tests: tuple[Test, ...]
    slopes: tuple[str, ...]
    within: Floats


# --- shape
# ----------------------------------------------------------------------------------------------------


def _combinations(columns: Sequence[pd.Series]) -> _Codes:
    """Return the number of each row's combination of values."""
    number: _Codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes = np.asarray(pd.factorize(column)[0], dtype=np.int64)
        number = np.asarray(pd.factorize(number * (int(codes.max()) + 1) + codes)[0], dtype=np.int64)
    return number


def lack_of_fit_test(fit: LinearFit, cells: _Codes) -> Test:
    """Test the shape of ``fit`` against the means of rows with equal factor values (``cells``), which have any shape.

    F = ((RSS - SSPE) / (df - dfPE)) / (SSPE / dfPE), the pure-error test (Draper & Smith 1998, section 2.1).
    """
    counts = np.bincount(cells)
    free, pure = len(counts) - fit.design.x.shape[1], len(cells) - len(counts)
    if free < 1 or pure < 1:
        why = "every combination of factor values has its own coefficient" if free < 1 else "no factor values repeat"
        return Test(LACK_OF_FIT, "shape", None, None, f"Not tested: {why}.")
    rest, spread = (fit.residuals, fit.summary.df_residual), (_around(fit.residuals, cells), pure)
    return _f_test(LACK_OF_FIT, "shape", rest, spread)


def _f_test(name: str, assumption: str, smaller: _Rest, larger: _Rest, of: str = "") -> Test:
    """Compare what a model leaves (residuals, degrees of freedom) with what a larger one leaves."""
    (small, small_df), (large, large_df) = ((float(left @ left), df) for left, df in (smaller, larger))
    extra = small_df - large_df
    if extra < 1 or large_df < 1:
        return Test(name, assumption, None, None, "Not tested: no degree of freedom is left.")
    if large <= np.finfo(float).eps * small:
        return Test(name, assumption, np.inf, 0.0, f"{of}F({extra}, {large_df}): nothing is left to vary.")
    f = max(small - large, 0.0) / extra / (large / large_df)
    return Test(name, assumption, f, float(stats.f.sf(f, extra, large_df)), f"{of}F({extra}, {large_df}).")


def _around(values: Floats, codes: _Codes) -> Floats:
    """Return the values around the mean of their group."""
    centred: Floats = values - (np.bincount(codes, values) / np.maximum(np.bincount(codes), 1))[codes]
    return centred


def _around_means(cells: _Codes) -> Floats | None:
    """Return the orthonormal columns of the means of the combinations; None where they are too many to hold."""
    count = int(cells.max()) + 1
    if count > _MOST_CELLS:
        return None
    means: Floats = np.eye(count)[cells] / np.sqrt(np.bincount(cells))
    return means


# --- groups of rows
# ----------------------------------------------------------------------------------------------------


def _groups(design: DesignMatrix, table: pd.DataFrame, group: str | None) -> _Codes | None:
    """Return the number of each row's group; None where the column is too few or too many groups."""
    if group is None or not design.intercept:
        return None
    codes, names = pd.factorize(table[group].iloc[design.rows].to_numpy())
    few = len(names) < _TWO or len(names) == len(codes) or bool((codes < 0).any())
    return None if few else np.asarray(codes, dtype=np.int64)


def _untested(fit: LinearFit) -> _Groups:
    return _Groups((), (), fit.residuals)


def _group_tests(fit: LinearFit, around: Surroundings, kind: _Base, codes: _Codes) -> _Groups:
    if int(codes.max()) + 1 < FEWEST_GROUPS:
        return _untested(fit)
    base, group = around.base(kind), str(around.group)
    if base is None:
        what = "Not tested: the formula's shape does not fit, and there are too many combinations to look around."
        return _Groups((Test(GROUPS, "independence", None, None, what),), (), fit.residuals)
    response = fit.design.responses.index(fit.response)
    within, levels, slopes = (
        [(name, rests.of(response)) for name, rests in around.rests(what, kind, codes, base)]
        for what in (GROUPS, LEVELS, SLOPES)
    )
    inner = within[0][1]
    shifted = _f_test(GROUPS, "independence", _rest(fit.y[None], base).of(0), inner, f"{group}: ")
    tests = (shifted, *_strongest_test(LEVELS, inner, levels, group))
    steepest = _strongest_test(SLOPES, inner, slopes, group)
    if not steepest or steepest[0].holds is not False:
        return _Groups((*tests, *steepest), (), inner[0])
    name, left = slopes[_strongest(_f_tests(SLOPES, inner, slopes, group))]
    return _Groups((*tests, *steepest), (name,), left[0])


def _f_tests(what: str, smaller: _Rest, larger: Sequence[tuple[str, _Rest]], group: str) -> list[Test]:
    return [_f_test(what, "independence", smaller, rest, f"{group} by {name}: ") for name, rest in larger]


def _strongest_test(what: str, smaller: _Rest, larger: Sequence[tuple[str, _Rest]], group: str) -> list[Test]:
    """Return the strongest test of several, corrected; none where there is nothing to test."""
    tried = _f_tests(what, smaller, larger, group)
    return [_corrected(tried[_strongest(tried)], len(tried))] if tried else []


def _of_groups(around: Surroundings, codes: _Codes, base: Floats) -> Iterator[tuple[str, _Rests]]:
    """Yield what its own mean for each group leaves."""
    yield "", _apart(around.design.y, base, lambda values: _around(values, codes), int(codes.max()) + 1)


def _of_levels(around: Surroundings, codes: _Codes, base: Floats) -> Iterator[tuple[str, _Rests]]:
    """Yield what its own mean for each level of a category in each group leaves.

    Where each group holds one row of each level, nothing is left to compare with: the difference between groups is
    the residual then, and every standard error has it already.
    """
    for name, level in around.categories:
        cells = np.asarray(pd.factorize(codes * (int(level.max()) + 1) + level)[0], dtype=np.int64)
        yield name, _apart(around.design.y, base, partial(_around, codes=cells), int(cells.max()) + 1)


def _of_slopes(around: Surroundings, codes: _Codes, base: Floats) -> Iterator[tuple[str, _Rests]]:
    """Yield what a mean and its own slope for each group leave."""
    for name, column in _varying(around.design, codes):
        yield name, _with_slopes(around.design.y, base, codes, column)


_RESTS = {GROUPS: _of_groups, LEVELS: _of_levels, SLOPES: _of_slopes}


def _apart(y: Floats, base: Floats, apart: Callable[[Floats], Floats], taken: int) -> _Rests:
    """Return what base and ``taken`` parameters leave of all responses (n x q)."""
    inner = np.empty(base.shape, order="F")
    for j in range(base.shape[1]):
        inner[:, j] = apart(base[:, j])
    return _rest(np.array([apart(column) for column in y.T]), inner, taken)


def _crossed(categories: Sequence[tuple[str, _Codes]], codes: _Codes) -> tuple[str, ...]:
    """Return the factors that vary within groups and have rows to spare there, so that other rows hide what differs.

    A test of whether their effects differ between groups misses most of it at few groups, and what it misses makes
    standard errors too small: at three groups, up to 13 of 100 sentences on a category without effect said that it had
    one. So no test decides whether these effects are judged over groups (Barr et al. 2013, "keep it maximal").
    """
    return tuple(name for name, level in categories if len(codes) > _count(codes, level))


def _count(codes: _Codes, level: _Codes) -> int:
    """Return how many combinations of group and level there are."""
    return len(pd.unique(codes * (int(level.max()) + 1) + level))


def _categories(design: DesignMatrix, codes: _Codes) -> Iterator[tuple[str, _Codes]]:
    """Yield the categories with a term of their own that vary within groups, as the number of each row's level."""
    for name in (block.reads[0] for block in design.blocks if len(block.reads) == 1):
        if name not in design.levels:
            continue
        level = np.asarray(pd.factorize(design.frame[name])[0], dtype=np.int64)
        if _count(codes, level) > codes.max() + 1:
            yield name, level


def _strongest(tests: Sequence[Test]) -> int:
    """Return the place of the test with the smallest p."""
    return min(range(len(tests)), key=lambda i: 1.0 if tests[i].p is None else float(tests[i].p or 0.0))


def _corrected(test: Test, tried: int) -> Test:
    """Return the strongest of several tests with the p-value of a test that was chosen for it (Bonferroni)."""
    if test.p is None or tried == 1:
        return test
    return replace(test, p=min(test.p * tried, 1.0), note=f"{test.note} The strongest of {tried}, corrected.")


def _rest(y: Floats, x: Floats, taken: int = 0) -> _Rests:
    """Return the residuals of y (q x n) on x and their degrees of freedom, ``taken`` of which are gone already.

    The columns' own space is found in the triangle of x, as decomposing all its rows takes much longer. What rounding
    leaves of that space in the residuals is taken out a second time.
    """
    _, values, right = np.linalg.svd(np.linalg.qr(x, mode="r"))
    kept = values > _OWN * max(float(values.max()), 1.0)
    space = right[: len(values)][kept].T / values[kept]
    solve = space @ space.T
    left = y - (y @ x) @ solve @ x.T
    left -= (left @ x) @ solve @ x.T
    return _Rests(left, y.shape[1] - int(kept.sum()) - taken)


def _varying(design: DesignMatrix, codes: _Codes) -> Iterator[tuple[str, Floats]]:
    """Yield the numeric factors with a term of their own that vary within groups, around their groups' means."""
    for block in design.blocks:
        if len(block.reads) != 1 or block.reads[0] not in design.ranges or block.name != block.reads[0]:
            continue
        inner = _around(design.x[:, block.columns[0]], codes)
        lengths = np.bincount(codes, inner**2)
        if (lengths > _OWN * lengths.max()).sum() >= FEWEST_GROUPS:
            yield block.name, inner / np.sqrt(lengths.max())


def _with_slopes(y: Floats, base: Floats, codes: _Codes, column: Floats) -> _Rests:
    lengths = np.bincount(codes, column**2)
    sloped = lengths > _OWN
    taken = len(lengths) + int(sloped.sum())

    def apart(values: Floats) -> Floats:
        inner = _around(values, codes)
        slope = np.divide(np.bincount(codes, inner * column), lengths, out=np.zeros_like(lengths), where=sloped)
        remainder: Floats = inner - slope[codes] * column
        return remainder

    return _apart(y, base, apart, taken)


# --- order of the run
# ----------------------------------------------------------------------------------------------------


def _order_test(fit: LinearFit, base: Floats | None, table: pd.DataFrame) -> list[Test]:
    """Test independence in the order of the run, where the table says it: the order of a table's rows means nothing."""
    if RUN_ORDER not in table.columns or base is None or len(fit.y) - base.shape[1] < 1:
        return []
    times = table[RUN_ORDER].iloc[fit.design.rows]
    if not pd.api.types.is_numeric_dtype(times) or times.isna().any() or times.duplicated().any():
        return []
    residuals = fit.y - base @ (base.T @ fit.y)
    return [ljung_box_test(residuals[np.argsort(times.to_numpy(), kind="stable")])]
