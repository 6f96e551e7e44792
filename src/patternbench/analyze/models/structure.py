"""Tests of what a linear model leaves out: curvature, groups of rows, slopes that differ between groups, run order.

Curvature is looked for first. Where the formula's shape does not fit, what it misses would look like dependence, so
dependence is then sought around the means of the factors' combinations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Structure:
    """The tests, the factors whose slopes differ between groups, and the residuals (n) within groups and slopes.

    `crossed` names the factors that vary within groups and whose effects may differ between them.
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


def structure_tests(fit: LinearFit, basis: Factorization, table: pd.DataFrame, group: str | None) -> Structure:
    """Test the shape of `fit`, then the independence of its rows by the column `group` and by the order of the run."""
    if exact_fit_note(fit):
        return Structure((), (), fit.residuals)
    cells = _cells(fit.design)
    shape = lack_of_fit_test(fit, cells)
    around = _around_means(cells) if shape.holds is False else basis.q
    codes = _groups(fit.design, table, group)
    enough = codes is not None and int(codes.max()) + 1 >= FEWEST_GROUPS
    by_group = _group_tests(fit, around, codes, str(group)) if codes is not None and enough else _untested(fit)
    crossed = () if codes is None else _crossed(fit.design, codes)
    tests = (shape, *by_group.tests, *_order_test(fit, around, table))
    return Structure(tests, by_group.slopes, by_group.within, crossed)


@dataclass(frozen=True)
class _Groups:
    tests: tuple[Test, ...]
    slopes: tuple[str, ...]
    within: Floats


# --- shape
# ----------------------------------------------------------------------------------------------------


def _cells(design: DesignMatrix) -> _Codes:
    """Return the number of each row's combination of factor values."""
    numbers = design.frame.groupby(list(design.parsed.right), sort=True, observed=True).ngroup()
    return np.asarray(numbers, dtype=np.int64)


def lack_of_fit_test(fit: LinearFit, cells: _Codes) -> Test:
    """Test the shape of `fit` against the means of rows with equal factor values (`cells`), which have any shape.

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


def _group_tests(fit: LinearFit, base: Floats | None, codes: _Codes, group: str) -> _Groups:
    if base is None:
        what = "Not tested: the formula's shape does not fit, and there are too many combinations to look around."
        return _Groups((Test(GROUPS, "independence", None, None, what),), (), fit.residuals)
    inner = np.apply_along_axis(_around, 0, base, codes)
    within = _rest(_around(fit.y, codes), inner, int(codes.max()) + 1)
    shifted = _f_test(GROUPS, "independence", _rest(fit.y, base), within, f"{group}: ")
    tests = (shifted, *_level_tests(fit, base, codes, within, group))
    sloped = [(name, _with_slopes(fit.y, base, codes, column)) for name, column in _varying(fit.design, codes)]
    if not sloped:
        return _Groups(tests, (), within[0])
    slopes = [_f_test(SLOPES, "independence", within, rest, f"{group} by {name}: ") for name, rest in sloped]
    index = _strongest(slopes)
    strongest = _corrected(slopes[index], len(slopes))
    if strongest.holds is not False:
        return _Groups((*tests, strongest), (), within[0])
    return _Groups((*tests, strongest), (sloped[index][0],), sloped[index][1][0])


def _level_tests(fit: LinearFit, base: Floats, codes: _Codes, within: _Rest, group: str) -> list[Test]:
    """Test whether the effects of a category differ between groups, by the mean of every level in every group.

    Where each group holds one row of each level, nothing is left to compare with: the difference between groups is
    the residual then, and every standard error has it already.
    """
    tried = [
        _f_test(LEVELS, "independence", within, _with_levels(fit.y, base, codes, level), f"{group} by {name}: ")
        for name, level in _categories(fit.design, codes)
    ]
    return [_corrected(tried[_strongest(tried)], len(tried))] if tried else []


def _crossed(design: DesignMatrix, codes: _Codes) -> tuple[str, ...]:
    """Return the factors that vary within groups and have rows to spare there, so that other rows hide what differs.

    A test of whether their effects differ between groups misses most of it at few groups, and what it misses makes
    standard errors too small: at three groups, up to 13 of 100 sentences on a category without effect said that it had
    one. So no test decides whether these effects are judged over groups (Barr et al. 2013, "keep it maximal").
    """
    return tuple(name for name, level in _categories(design, codes) if len(codes) > _count(codes, level))


def _count(codes: _Codes, level: _Codes) -> int:
    """Return how many combinations of group and level there are."""
    return len(np.unique(codes * (int(level.max()) + 1) + level))


def _categories(design: DesignMatrix, codes: _Codes) -> Iterator[tuple[str, _Codes]]:
    """Yield the categories with a term of their own that vary within groups, as the number of each row's level."""
    for name in (block.reads[0] for block in design.blocks if len(block.reads) == 1):
        if name not in design.levels:
            continue
        level = np.asarray(pd.factorize(design.frame[name].to_numpy())[0], dtype=np.int64)
        if _count(codes, level) > codes.max() + 1:
            yield name, level


def _with_levels(y: Floats, base: Floats, codes: _Codes, level: _Codes) -> _Rest:
    """What a mean of its own for each level in each group leaves of y."""
    names, cells = np.unique(codes * (int(level.max()) + 1) + level, return_inverse=True)
    return _rest(_around(y, cells), np.apply_along_axis(_around, 0, base, cells), len(names))


def _strongest(tests: Sequence[Test]) -> int:
    """Return the place of the test with the smallest p."""
    return min(range(len(tests)), key=lambda i: 1.0 if tests[i].p is None else float(tests[i].p or 0.0))


def _corrected(test: Test, tried: int) -> Test:
    """Return the strongest of several tests with the p-value of a test that was chosen for it (Bonferroni)."""
    if test.p is None or tried == 1:
        return test
    return replace(test, p=min(test.p * tried, 1.0), note=f"{test.note} The strongest of {tried}, corrected.")


def _rest(y: Floats, x: Floats, taken: int = 0) -> _Rest:
    """Return the residuals of y on x and their degrees of freedom, `taken` of which are gone already."""
    left, values, _ = np.linalg.svd(x, full_matrices=False)
    own = left[:, values > _OWN * max(float(values.max()), 1.0)]
    residuals = y - own @ (own.T @ y)
    return residuals, len(y) - own.shape[1] - taken


def _varying(design: DesignMatrix, codes: _Codes) -> Iterator[tuple[str, Floats]]:
    """Yield the numeric factors with a term of their own that vary within groups, around their groups' means."""
    for block in design.blocks:
        if len(block.reads) != 1 or block.reads[0] not in design.ranges or block.name != block.reads[0]:
            continue
        inner = _around(design.x[:, block.columns[0]], codes)
        lengths = np.bincount(codes, inner**2)
        if (lengths > _OWN * lengths.max()).sum() >= FEWEST_GROUPS:
            yield block.name, inner / np.sqrt(lengths.max())


def _with_slopes(y: Floats, base: Floats, codes: _Codes, column: Floats) -> _Rest:
    lengths = np.bincount(codes, column**2)
    sloped = lengths > _OWN
    taken = len(lengths) + int(sloped.sum())

    def apart(values: Floats) -> Floats:
        inner = _around(values, codes)
        slope = np.divide(np.bincount(codes, inner * column), lengths, out=np.zeros_like(lengths), where=sloped)
        remainder: Floats = inner - slope[codes] * column
        return remainder

    return _rest(apart(y), np.apply_along_axis(apart, 0, base), taken)


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
