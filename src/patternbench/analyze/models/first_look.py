"""The first look at a table that is read in blocks: what its design needs to know before the first row is added.

Which factors apply at some levels of another only, which levels there are, which columns are constant and which rows
are complete is known after the last row. ``build_design`` finds the same in a table that is in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from patternbench.analyze.blocks import Blocks
from patternbench.analyze.models.formula import (
    Texts,
    in_order,
    is_number,
    nest_problems,
    response_problems,
    without_categories,
    without_constants,
)
from patternbench.analyze.models.formula_text import Parsed, at
from patternbench.analyze.models.nesting import (
    MOST_DECIDED,
    Nest,
    Presence,
    by_kind,
    counted,
    decider,
    nested_note,
)
from patternbench.terms.arrays import Bools, Ints
from patternbench.terms.data_problems import DataProblem, Note, plural, raise_if_any
from patternbench.terms.factors import FactorTable

Rows = Ints
MOST_LEVELS = 1 << 16
"""Levels of a category that are kept apart. An id has as many as there are rows, and memory holds no table of them."""


@dataclass(frozen=True)
class FirstLook:
    """What is known of a table: the formula without constants, levels (the first is the reference), nests, notes.

    ``written`` is the formula as it was written, whose columns decide which rows are complete.
    """

    written: Parsed
    parsed: Parsed
    levels: Mapping[str, tuple[object, ...]]
    nests: tuple[Nest, ...]
    notes: tuple[Note, ...]

    def complete(self, table: Blocks) -> Iterator[tuple[pd.DataFrame, Rows]]:
        """Yield the complete rows of each block that has any, with their positions in the table."""
        for begin, block in _blocks(self.written, table, self.nests):
            kept = np.flatnonzero(~_bad_cells(block).any(axis=1))
            if len(kept):
                yield self._with_categories(block.iloc[kept].reset_index(drop=True)), begin + kept

    def _with_categories(self, frame: pd.DataFrame) -> pd.DataFrame:
        own = {name: levels for name, levels in self.levels.items() if name in self.parsed.right}
        made = {name: pd.Categorical(frame[name].astype(object), list(levels)) for name, levels in own.items()}
        return pd.DataFrame({name: made.get(str(name), column) for name, column in frame.items()})


def first_look(parsed: Parsed, table: Blocks, factors: FactorTable) -> FirstLook:
    """Look through a table once, and once more where factors apply at some levels of another only.

    Raises ``DataError`` where the formula or the table cannot be fitted.
    """
    applying, found = _ApplicableRows(), _CompleteRows()
    texts = Texts(parsed)
    for begin, block in _blocks(parsed, table):
        texts.add(block, begin)
        applying.add(parsed, block)
        found.add(parsed, block)
    raise_if_any(texts.problems())
    nests, notes = applying.nests(parsed, found, factors)
    raise_if_any(nest_problems(parsed, nests))
    if nests:
        found = _filled(parsed, table, nests, found)
    raise_if_any(found.problems(parsed))
    varying, dropped = without_constants(parsed, found.constants(parsed))
    levels = {name: tuple(in_order(found.levels(name), factors.nones.get(name))) for name in found.seen}
    return FirstLook(parsed, varying, levels, nests, (*notes, *found.notes(), *dropped))


def _filled(parsed: Parsed, table: Blocks, nests: Sequence[Nest], before: _CompleteRows) -> _CompleteRows:
    """Look again with the nulls of nested factors filled; the types of the columns stay those that they had."""
    found = _CompleteRows(floats=before.floats)
    for _, block in _blocks(parsed, table, nests):
        found.add(parsed, block)
    return found


def _blocks(parsed: Parsed, table: Blocks, nests: Sequence[Nest] = ()) -> Iterator[tuple[int, pd.DataFrame]]:
    """Yield the columns that a formula reads, in blocks, each with the position of its first row."""
    begin = 0
    for block in table.blocks(list(dict.fromkeys((*parsed.left, *parsed.right)))):
        plain = pd.DataFrame({name: without_categories(column) for name, column in block.items()})
        filled = {one.column: one.filled(plain) for one in nests}
        yield begin, pd.DataFrame({name: filled.get(str(name), column) for name, column in plain.items()})
        begin += len(block)


def _categories(parsed: Parsed, frame: pd.DataFrame) -> list[str]:
    return [name for name in parsed.right if name in parsed.categorical or not is_number(frame[name])]


def _bad_cells(frame: pd.DataFrame) -> Bools:
    """Which cells are missing or infinite."""
    cells = [
        ~np.isfinite(column.to_numpy(float, na_value=np.nan)) if is_number(column) else column.isna().to_numpy()
        for _, column in frame.items()
    ]
    return np.column_stack(cells)


# --- which rows are complete, and what they hold
# ----------------------------------------------------------------------------------------------------


@dataclass
class _CompleteRows:
    """The complete rows: the levels of each category, the ends of each number, and how many rows lack which column.

    ``floats`` are the columns of which a block holds floats. In a block without missing values whole numbers may be
    ints; in the table they are what they are in the others.
    """

    seen: dict[str, set[object]] = field(default_factory=dict)
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)
    floats: set[str] = field(default_factory=set)
    rows: int = 0
    lacking: dict[str, int] = field(default_factory=dict)
    incomplete: int = 0

    def add(self, parsed: Parsed, block: pd.DataFrame) -> None:
        """Add a block of rows."""
        bad = _bad_cells(block)
        complete = block.iloc[np.flatnonzero(~bad.any(axis=1))]
        self.rows += len(block)
        self.incomplete += len(block) - len(complete)
        for name, count in zip(map(str, block), bad.sum(axis=0).tolist(), strict=True):
            self.lacking[name] = self.lacking.get(name, 0) + count
        self.floats |= {str(name) for name, column in block.items() if pd.api.types.is_float_dtype(column)}
        for name in _categories(parsed, block):
            seen = self.seen.setdefault(name, set())
            if len(seen) <= MOST_LEVELS:
                seen.update(complete[name].unique().tolist())
        if len(complete):
            self._widen({str(name): column for name, column in complete.items() if is_number(column)})

    def _widen(self, numbers: Mapping[str, pd.Series]) -> None:
        for name, column in numbers.items():
            low, high = self.ends.get(name, (np.inf, -np.inf))
            self.ends[name] = min(low, column.min()), max(high, column.max())

    def typed(self, name: str, value: object) -> object:
        """Return a value of a column as the table, rather than a block, holds it."""
        if name in self.floats and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return float(value)
        return value

    def levels(self, name: str) -> list[object]:
        """Return the levels of a category."""
        return [self.typed(name, level) for level in self.seen[name]]

    def problems(self, parsed: Parsed) -> list[DataProblem]:
        """Say that no row is complete, or which responses never vary."""
        if self.incomplete == self.rows:
            return [DataProblem(f"no row is complete: {self._lacks() or 'the table is empty'}.", at(parsed.text))]
        return response_problems({name: self.ends[name] for name in parsed.left}, self.rows - self.incomplete)

    def constants(self, parsed: Parsed) -> dict[str, object]:
        """Return the columns on the right that hold one value, with it."""
        single = {name: next(iter(self.seen[name])) for name in self.seen if len(self.seen[name]) == 1}
        numbers = {name: low for name, (low, high) in self.ends.items() if name not in self.seen and low == high}
        held = single | numbers
        return {name: self.typed(name, held[name]) for name in parsed.right if name in held}

    def notes(self) -> list[Note]:
        """Say which rows were left out."""
        if not self.incomplete:
            return []
        return [Note("missing", f"{plural(self.incomplete, 'row')} left out: {self._lacks()}.")]

    def _lacks(self) -> str:
        return ", ".join(f"{name} lacks {plural(count, 'value')}" for name, count in self.lacking.items() if count)


# --- which factors apply at some levels of another only
# ----------------------------------------------------------------------------------------------------


@dataclass
class _ApplicableRows:
    """Rows at each level of the categories, those where a column has no value, and what stands in for its nulls.

    A category of too many levels to decide anything isn't counted on.
    """

    total: int = 0
    rows: dict[str, Counter[object]] = field(default_factory=dict)
    lacking: dict[tuple[str, str], Counter[object]] = field(default_factory=dict)
    nulls: Counter[str] = field(default_factory=Counter)
    sums: dict[str, float] = field(default_factory=dict)
    least: dict[str, object] = field(default_factory=dict)

    def add(self, parsed: Parsed, block: pd.DataFrame) -> None:
        """Add a block of rows."""
        self.total += len(block)
        categories = _categories(parsed, block)
        missing = {name: block[name].isna() for name in parsed.right}
        for by in categories:
            self._count(by, block[by], missing)
        for name in parsed.right:
            self.nulls[name] += int(missing[name].sum())
            self._stand_in(name, block.loc[~missing[name], name], name in categories)

    def _count(self, by: str, column: pd.Series, missing: Mapping[str, pd.Series]) -> None:
        rows = self.rows.setdefault(by, Counter())
        if len(rows) > MOST_DECIDED:
            return
        rows.update(counted(column))
        for name, empty in missing.items():
            if name != by and empty.any():
                self.lacking.setdefault((name, by), Counter()).update(counted(column[empty]))

    def _stand_in(self, name: str, values: pd.Series, category: bool) -> None:
        if not category:
            self.sums[name] = self.sums.get(name, 0.0) + float(values.sum())
        elif len(values):
            known = [self.least[name]] if name in self.least else []
            self.least[name] = min([*known, *values.unique().tolist()], key=by_kind)

    def nests(
        self, parsed: Parsed, found: _CompleteRows, factors: FactorTable
    ) -> tuple[tuple[Nest, ...], tuple[Note, ...]]:
        """Return the nested factors of a formula, with a note on each."""
        nests, notes = [], []
        for column in (name for name in parsed.right if 0 < self.nulls[name] < self.total):
            presence = partial(self._presence, found, column)
            if by := decider(column, (name for name in parsed.right if name in self.rows), presence, factors):
                nests.append(Nest(column, by, presence(by).applies, self._filling(column, found)))
                notes.append(nested_note(nests[-1], presence(by).elsewhere, factors))
        return tuple(nests), tuple(notes)

    def _presence(self, found: _CompleteRows, column: str, by: str) -> Presence:
        rows = {found.typed(by, level): count for level, count in self.rows[by].items()}
        return Presence(rows, self.lacking.get((column, by), Counter()), self.total)

    def _filling(self, column: str, found: _CompleteRows) -> object:
        if column in self.rows:
            return found.typed(column, self.least[column])
        return self.sums[column] / (self.total - self.nulls[column])
