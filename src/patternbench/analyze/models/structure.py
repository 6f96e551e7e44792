"""Tests of what a linear model leaves out: curvature, groups of rows, slopes that differ between groups, run order.

Curvature is looked for first. Where the formula's shape does not fit, what it misses would look like dependence, so
dependence is then sought around the means of the factors' combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import pandas as pd
from scipy import sparse, stats

from patternbench.analyze.models.decomposition import triangle_of
from patternbench.analyze.models.diagnostics import Test, ljung_box_test
from patternbench.analyze.models.formula import DesignMatrix
from patternbench.analyze.models.linear import Factorization, LinearFit, exact_fit_note
from patternbench.terms.arrays import Floats, Ints

RUN_ORDER = "started"
"""The column of a run's table that says when a round ran."""
FEWEST_GROUPS = 3
"""A random effect needs this many groups."""
_TWO = 2
_MOST_CELLS = 200
_OWN = 1e-8
_ROUNDING = 1e-12
_OWN_PRODUCT = 1e-11
"""The least own share of a combination's mean, a difference of products, which rounding leaves at 1e-15."""
_Rest = tuple[float, int]
"""The sum of squares that a model leaves of a response, and its degrees of freedom."""
_Kind = Literal["model", "means"]
"""What dependence is sought around: the model, or the means of the factors' combinations."""


@dataclass(frozen=True)
class _Residuals:
    """What a larger model leaves of every response: sums of squares (q), degrees of freedom, ``rows`` makes q x n."""

    squares: Floats
    df: int
    rows: Callable[[], Floats]

    def of(self, response: int) -> _Rest:
        """Return what it leaves of one response."""
        return float(self.squares[response]), self.df


@dataclass(frozen=True)
class SharedTests:
    """What the tests of all responses of a design share, each part computed once when it is first asked for.

    ``group`` names the column that groups rows.
    """

    design: DesignMatrix
    basis: Factorization
    table: pd.DataFrame
    group: str | None
    _kept: dict[tuple[str, _Kind], list[tuple[str, _Residuals]]] = field(default_factory=dict)

    @cached_property
    def codes(self) -> Ints | None:
        """The number of each row's group."""
        return _groups(self.design, self.table, self.group)

    @cached_property
    def categories(self) -> list[tuple[str, Ints]]:
        """The categories that vary within groups, as the number of each row's level."""
        return [] if self.codes is None else list(_categories(self.design, self.codes))

    def base(self, kind: _Kind) -> _Space | None:
        """Return the space to look around; None where it has too many combinations."""
        if kind == "model":
            return _ModelSpace(self.basis.q)
        return None if int(self.design.cells.max()) + 1 > _MOST_CELLS else _MeansSpace(self.design.cells)

    def rests(self, what: str, kind: _Kind, codes: Ints, base: _Space) -> list[tuple[str, _Residuals]]:
        """Return what GROUPS, ``SLOPES`` or ``LEVELS`` leave of all responses, for each factor that may have them."""
        if (what, kind) not in self._kept:
            self._kept[what, kind] = list(_RESTS[what](self, codes, base))
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


def structure_tests(fit: LinearFit, around: SharedTests) -> Structure:
    """Test the shape of ``fit``, then the independence of its rows by groups and by the order of the run."""
    if exact_fit_note(fit):
        return Structure((), (), fit.residuals)
    shape = lack_of_fit_test(fit, fit.design.cells)
    kind: _Kind = "means" if shape.holds is False else "model"
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


def lack_of_fit_test(fit: LinearFit, cells: Ints) -> Test:
    """Test the shape of ``fit`` against the means of rows with equal factor values (``cells``), which have any shape.

    F = ((RSS - SSPE) / (df - dfPE)) / (SSPE / dfPE), the pure-error test (Draper & Smith 1998, section 2.1).
    """
    counts = np.bincount(cells)
    free, pure = len(counts) - len(fit.design.columns), len(cells) - len(counts)
    if free < 1 or pure < 1:
        why = "every combination of factor values has its own coefficient" if free < 1 else "no factor values repeat"
        return Test(LACK_OF_FIT, "shape", None, None, f"Not tested: {why}.")
    rest, spread = (_square(fit.residuals), fit.summary.df_residual), (_square(_around(fit.residuals, cells)), pure)
    return _f_test(LACK_OF_FIT, "shape", rest, spread)


def _square(values: Floats) -> float:
    return float(values @ values)


def _f_test(name: str, assumption: str, smaller: _Rest, larger: _Rest, of: str = "") -> Test:
    """Compare what a model leaves with what a larger one leaves."""
    (small, small_df), (large, large_df) = smaller, larger
    extra = small_df - large_df
    if extra < 1 or large_df < 1:
        return Test(name, assumption, None, None, "Not tested: no degree of freedom is left.")
    if large <= np.finfo(float).eps * small:
        return Test(name, assumption, np.inf, 0.0, f"{of}F({extra}, {large_df}): nothing is left to vary.")
    f = max(small - large, 0.0) / extra / (large / large_df)
    return Test(name, assumption, f, float(stats.f.sf(f, extra, large_df)), f"{of}F({extra}, {large_df}).")


def _around(values: Floats, codes: Ints) -> Floats:
    """Return the values around the mean of their group."""
    return _GroupCentring(codes)(values)


# --- what is left apart from groups
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _GroupCentring:
    """Takes out of values the mean of each group, and its slope on a ``column`` (n, around the groups' means), if any.

    ``codes`` (n) has the number of each row's group.
    """

    codes: Ints
    column: Floats | None = None

    @cached_property
    def _counts(self) -> Ints:
        return np.maximum(np.bincount(self.codes), 1)

    @cached_property
    def _scales(self) -> Floats:
        """One over the length of the column in each group; 0 where it doesn't vary, so that there is no slope."""
        lengths = np.zeros(len(self._counts)) if self.column is None else np.bincount(self.codes, self.column**2)
        return np.divide(1, np.sqrt(lengths), out=np.zeros_like(lengths), where=lengths > _OWN)

    @property
    def taken(self) -> int:
        """How many parameters are taken out."""
        return len(self._counts) + int((self._scales > 0).sum())

    def __call__(self, values: Floats) -> Floats:
        """Return what is left of values (n)."""
        inner: Floats = values - (np.bincount(self.codes, values) / self._counts)[self.codes]
        if self.column is not None:
            slope = np.bincount(self.codes, inner * self.column) * self._scales**2
            inner -= slope[self.codes] * self.column
        return inner

    def weights(self) -> Iterator[Floats]:
        """Yield the weight of each row (n) in what is taken out of its group, at length 1."""
        yield (1 / np.sqrt(self._counts))[self.codes]
        if self.column is not None:
            yield self.column * self._scales[self.codes]


class _Space(Protocol):
    """What dependence is sought around: a space of ``size`` dimensions."""

    @property
    def size(self) -> int:
        """How many dimensions it has."""

    def left(self, y: Floats) -> Floats:
        """Return what it leaves of y (q x n)."""

    def beside(self, apart: _GroupCentring, y: Floats) -> tuple[Floats, int]:
        """Return what it leaves of y (q x n) together with what is taken apart, and the degrees of freedom."""


@dataclass(frozen=True)
class _ModelSpace:
    """The space of a model, by its orthonormal columns (n x p).

    What rounding leaves of a space in residuals is taken out a second time.
    """

    q: Floats

    @property
    def size(self) -> int:
        """How many columns there are."""
        return int(self.q.shape[1])

    def left(self, y: Floats) -> Floats:
        """Return what the columns leave of y (q x n)."""
        left: Floats = y - (y @ self.q) @ self.q.T
        return left - (left @ self.q) @ self.q.T

    def beside(self, apart: _GroupCentring, y: Floats) -> tuple[Floats, int]:
        """Return what columns and groups leave of y (q x n), and the degrees of freedom.

        Their own space is found in their triangle, as decomposing all rows takes much longer. Nothing is left of a
        constant one.
        """
        varying = [column for column in self.q.T if np.ptp(column) > _ROUNDING * np.abs(column[0])]
        x = np.empty((len(self.q), len(varying)), order="F")
        for j, column in enumerate(varying):
            x[:, j] = apart(column)
        _, values, right = np.linalg.svd(triangle_of(x))
        kept = values > _OWN * max(float(values.max()), 1.0)
        space = right[: len(values)][kept].T / values[kept]
        left = np.array([apart(one) for one in y])
        for _ in range(2):
            left -= (left @ x) @ (space @ space.T) @ x.T
        return left, y.shape[1] - int(kept.sum()) - apart.taken


@dataclass(frozen=True)
class _MeansSpace:
    """The space of the means of rows with equal factor values, whose number is in ``cells`` (n).

    Its columns, one a combination, are never made: they would take many times the memory of the table.
    """

    cells: Ints

    @cached_property
    def _lengths(self) -> Floats:
        return np.sqrt(np.bincount(self.cells))

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return len(self._lengths)

    def left(self, y: Floats) -> Floats:
        """Return the rows of y (q x n) around the means of the combinations."""
        return np.array([_around(one, self.cells) for one in y])

    def beside(self, apart: _GroupCentring, y: Floats) -> tuple[Floats, int]:
        """Return what means of combinations and groups leave of y (q x n), and the degrees of freedom."""
        values, vectors = np.linalg.eigh(self._products(apart))
        kept = values > _OWN_PRODUCT
        solve = vectors[:, kept] / values[kept] @ vectors[:, kept].T
        left = np.array([apart(one) for one in y])
        for j in range(len(left)):
            for _ in range(2):
                weights = solve @ (np.bincount(self.cells, left[j]) / self._lengths)
                left[j] -= apart((weights / self._lengths)[self.cells])
        return left, y.shape[1] - int(kept.sum()) - apart.taken

    def _products(self, apart: _GroupCentring) -> Floats:
        """Return the products (size x size) of the columns at length 1, with what is taken out of each."""
        made = np.eye(self.size)
        for weights in apart.weights():
            places = (self.cells, apart.codes)
            table = sparse.csr_array((weights / self._lengths[self.cells], places))  # adds up rows of one place
            made -= (table @ table.T).toarray()
        return made


# --- groups of rows
# ----------------------------------------------------------------------------------------------------


def _groups(design: DesignMatrix, table: pd.DataFrame, group: str | None) -> Ints | None:
    """Return the number of each row's group; None where the column is too few or too many groups."""
    if group is None or not design.intercept:
        return None
    codes, names = pd.factorize(table[group].iloc[design.rows].to_numpy())
    few = len(names) < _TWO or len(names) == len(codes) or bool((codes < 0).any())
    return None if few else np.asarray(codes, dtype=np.int64)


def _untested(fit: LinearFit) -> _Groups:
    return _Groups((), (), fit.residuals)


def _group_tests(fit: LinearFit, around: SharedTests, kind: _Kind, codes: Ints) -> _Groups:
    if int(codes.max()) + 1 < FEWEST_GROUPS:
        return _untested(fit)
    base, group = around.base(kind), str(around.group)
    if base is None:
        what = "Not tested: the formula's shape does not fit, and there are too many combinations to look around."
        return _Groups((Test(GROUPS, "independence", None, None, what),), (), fit.residuals)
    response = fit.design.responses.index(fit.response)
    within, levels, slopes = (around.rests(what, kind, codes, base) for what in (GROUPS, LEVELS, SLOPES))
    inner = within[0][1]
    alone = (_square(base.left(fit.y[None])[0]), len(fit.y) - base.size)
    shifted = _f_test(GROUPS, "independence", alone, inner.of(response), f"{group}: ")
    by_level, by_slope = (
        _f_tests(what, inner.of(response), [(name, rests.of(response)) for name, rests in larger], group)
        for what, larger in ((LEVELS, levels), (SLOPES, slopes))
    )
    steepest = _strongest_test(by_slope)
    tests = (shifted, *_strongest_test(by_level), *steepest)
    if not steepest or steepest[0].holds is not False:
        return _Groups(tests, (), inner.rows()[response])
    name, left = slopes[_strongest(by_slope)]
    return _Groups(tests, (name,), left.rows()[response])


def _f_tests(what: str, smaller: _Rest, larger: Sequence[tuple[str, _Rest]], group: str) -> list[Test]:
    return [_f_test(what, "independence", smaller, rest, f"{group} by {name}: ") for name, rest in larger]


def _strongest_test(tried: Sequence[Test]) -> list[Test]:
    """Return the strongest test of several, corrected; none where there is nothing to test."""
    return [_corrected(tried[_strongest(tried)], len(tried))] if tried else []


def _of_groups(around: SharedTests, codes: Ints, base: _Space) -> Iterator[tuple[str, _Residuals]]:
    """Yield what its own mean for each group leaves; its rows are kept, because every response needs them."""
    left, df = base.beside(_GroupCentring(codes), around.design.y.T)
    yield "", _Residuals(_squares(left), df, lambda: left)


def _of_levels(around: SharedTests, codes: Ints, base: _Space) -> Iterator[tuple[str, _Residuals]]:
    """Yield what its own mean for each level of a category in each group leaves.

    Where each group holds one row of each level, nothing is left to compare with: the difference between groups is
    the residual then, and every standard error has it already.
    """
    for name, level in around.categories:
        cells = np.asarray(pd.factorize(codes * (int(level.max()) + 1) + level)[0], dtype=np.int64)
        yield name, _beside(around, base, _GroupCentring(cells))


def _of_slopes(around: SharedTests, codes: Ints, base: _Space) -> Iterator[tuple[str, _Residuals]]:
    """Yield what a mean and its own slope for each group leave."""
    for name, column in _varying(around.design, codes):
        yield name, _beside(around, base, _GroupCentring(codes, column))


_RESTS = {GROUPS: _of_groups, LEVELS: _of_levels, SLOPES: _of_slopes}


def _beside(around: SharedTests, base: _Space, apart: _GroupCentring) -> _Residuals:
    """Return the sums of squares that base and groups leave; their rows are made again for the few that need them."""
    left, df = base.beside(apart, around.design.y.T)
    return _Residuals(_squares(left), df, lambda: base.beside(apart, around.design.y.T)[0])


def _squares(left: Floats) -> Floats:
    return np.array([_square(one) for one in left])


def _crossed(categories: Sequence[tuple[str, Ints]], codes: Ints) -> tuple[str, ...]:
    """Return the factors that vary within groups and have rows to spare there, so that other rows hide what differs.

    A test of whether their effects differ between groups misses most of it at few groups, and what it misses makes
    standard errors too small: at three groups, up to 13 of 100 sentences on a category without effect said that it had
    one. So no test decides whether these effects are judged over groups (Barr et al. 2013, "keep it maximal").
    """
    return tuple(name for name, level in categories if len(codes) > _count(codes, level))


def _count(codes: Ints, level: Ints) -> int:
    """Return how many combinations of group and level there are."""
    return len(pd.unique(codes * (int(level.max()) + 1) + level))


def _categories(design: DesignMatrix, codes: Ints) -> Iterator[tuple[str, Ints]]:
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


def _varying(design: DesignMatrix, codes: Ints) -> Iterator[tuple[str, Floats]]:
    """Yield the numeric factors with a term of their own that vary within groups, around their groups' means."""
    for block in design.blocks:
        if len(block.reads) != 1 or block.reads[0] not in design.ranges or block.name != block.reads[0]:
            continue
        values = design.frame[block.name].to_numpy(dtype=np.float64)
        inner = _around(values - values.mean(), codes)  # sums of a clock's times would lose half of their digits
        lengths = np.bincount(codes, inner**2)
        if (lengths > _OWN * lengths.max()).sum() >= FEWEST_GROUPS:
            yield block.name, inner / np.sqrt(lengths.max())


# --- order of the run
# ----------------------------------------------------------------------------------------------------


def _order_test(fit: LinearFit, base: _Space | None, table: pd.DataFrame) -> list[Test]:
    """Test independence in the order of the run, where the table says it: the order of a table's rows means nothing."""
    if RUN_ORDER not in table.columns or base is None or len(fit.y) - base.size < 1:
        return []
    times = table[RUN_ORDER].iloc[fit.design.rows]
    if not pd.api.types.is_numeric_dtype(times) or times.isna().any() or times.duplicated().any():
        return []
    return [ljung_box_test(base.left(fit.y[None])[0][np.argsort(times.to_numpy(), kind="stable")])]
