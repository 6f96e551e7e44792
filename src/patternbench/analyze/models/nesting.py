"""Factors that apply only at some levels of another factor, such as a back-off's delay that only retries have.

Where such a factor does not apply its value is null. Leaving those rows out would silently drop the baseline. When
the formula also holds the factor that decides where it applies (``C(strategy)``), the rows stay: a constant stands in
for the null. The deciding factor's own coefficients absorb that constant, so the slope is estimated from the rows
where the factor applies and from no others (a nested effect); only what the deciding factor's coefficients are
measured at changes, and a note says so. Source of the idea: nested effects, Montgomery, Design and Analysis of
Experiments, chapter 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from patternbench.terms.data_problems import DataProblem, Note
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable

MOST_DECIDED = 50
"""Levels that a category which decides has at most."""
_MOSTLY = 0.5
"""From this share of values on a factor applies at a level, and what lacks there is missing."""


@dataclass(frozen=True)
class Nest:
    """A factor ``column`` that applies at the levels ``applies`` of ``by``; elsewhere ``stand_in`` is written."""

    column: str
    by: str
    applies: tuple[object, ...]
    stand_in: object

    def as_json(self) -> dict[str, object]:
        """Return the nest as plain data, which a prediction needs."""
        return {"column": self.column, "by": self.by, "applies": list(self.applies), "stand_in": self.stand_in}

    def filled(self, table: pd.DataFrame) -> pd.Series:
        """Return the column of a table, or of a block of one, with the stand-in where the factor does not apply."""
        return table[self.column].where(table[self.by].isin(self.applies), self.stand_in)


@dataclass(frozen=True)
class Presence:
    """Rows at each level of a category, and how many of them lack a value of another column; of a table's ``total``."""

    rows: Mapping[object, int]
    lacking: Mapping[object, int]
    total: int

    @property
    def applies(self) -> tuple[object, ...]:
        """The levels at which the other column has values, sorted."""
        return tuple(sorted((level for level in self.rows if self._present(level)), key=str))

    @property
    def elsewhere(self) -> int:
        """The rows at the levels at which the other column has no value."""
        return sum(count for level, count in self.rows.items() if not self._present(level))

    def decides(self) -> bool:
        """Whether the other column never has a value at some levels and mostly has at the others.

        Each level must be in two rows on average, so that rows that happen to lack a value don't decide. A category
        that itself lacks values decides nothing.
        """
        if sum(self.rows.values()) < self.total or not 1 < len(self.rows) <= min(MOST_DECIDED, self.total // 2):
            return False
        shares = [self._present(level) / count for level, count in self.rows.items()]
        return 0 in shares and all(share == 0 or share >= _MOSTLY for share in shares)

    def _present(self, level: object) -> int:
        return self.rows[level] - self.lacking.get(level, 0)


@dataclass(frozen=True)
class Nested:
    """A table whose nulls of nested factors are filled, the nests, and factors that the formula cannot nest."""

    table: pd.DataFrame
    nests: tuple[Nest, ...]
    alone: tuple[str, ...]
    notes: tuple[Note, ...]


def nest(
    table: pd.DataFrame, columns: Sequence[str], categorical: Sequence[str], factors: FactorTable = NOTHING_KNOWN
) -> Nested:
    """Fill the nulls of the formula's ``columns`` that another of them decides; ``categorical`` are its categories.

    Of several that may decide a pattern goes before others. Columns that only a factor outside the formula decides are
    left alone and named: the model then speaks of the rows where they apply, and a note says so.
    """
    nests, alone, notes = [], [], []
    for column in (name for name in columns if table[name].isna().any() and table[name].notna().any()):
        presence = partial(_presence, table, column)
        if by := decider(column, (name for name in columns if name in categorical), presence, factors):
            nests.append(Nest(column, by, presence(by).applies, _stand_in(table[column], column in categorical)))
            notes.append(nested_note(nests[-1], presence(by).elsewhere, factors))
        elif by := decider(column, _outside(table, columns), presence, factors):
            alone.append(column)
            notes.append(Note("not_applicable", _alone_text(column, by, presence(by))))
    filled = {one.column: one.filled(table) for one in nests}
    return Nested(table.assign(**filled), tuple(nests), tuple(alone), tuple(notes))


def decider(
    column: str, among: Iterable[str], presence: Callable[[str], Presence], factors: FactorTable = NOTHING_KNOWN
) -> str | None:
    """Return the category that decides where ``column`` applies, or None; ``presence`` gives its presence in each."""
    names = sorted((name for name in among if name != column), key=lambda name: name not in factors.patterns)
    return next((name for name in names if presence(name).decides()), None)


def counted(column: pd.Series) -> dict[object, int]:
    """Return how many rows each value is in."""
    return {value: count for value, count in column.value_counts(sort=False).to_dict().items() if count}


def _presence(table: pd.DataFrame, column: str, by: str) -> Presence:
    if table[by].nunique() > MOST_DECIDED:
        return Presence({}, {}, len(table))  # too many levels to decide; an id has as many as there are rows
    return Presence(counted(table[by]), counted(table.loc[table[column].isna(), by]), len(table))


def crossing_problems(
    nests: Sequence[Nest], terms: Iterable[tuple[str, Sequence[str]]], where: str
) -> list[DataProblem]:
    """Refuse interactions of a nested factor with a third one; ``terms`` gives each term and the columns it reads."""
    problems = []
    for text, columns in terms:
        for one in nests:
            if one.column in columns and set(columns) - {one.column, one.by}:
                what = f"{text}: {one.column} applies only at {_levels(one.by, one.applies)}, so it cannot interact."
                problems.append(DataProblem(what, where, "Remove the interaction, or fit those rows alone."))
    return problems


def _outside(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    texts = table.select_dtypes(include=["object", "string", "category"]).columns
    return [str(name) for name in texts if name not in columns and name not in ("scenario", "status", "cause")]


def _stand_in(column: pd.Series, category: bool) -> object:
    values = column.dropna()
    return min(values.unique(), key=by_kind) if category else float(values.mean())


def by_kind(level: object) -> tuple[str, object]:
    """Return what levels are sorted by: values of one type together."""
    return str(type(level)), level


def nested_note(one: Nest, elsewhere: int, factors: FactorTable) -> Note:
    """Say where a nested factor applies; ``elsewhere`` are the rows where it does not."""
    value = factors.text(one.column, one.stand_in)
    return Note(
        "nested",
        f"{one.column} applies only at {_levels(one.by, one.applies)}: its effect is estimated there, the other "
        f"{elsewhere:,} rows stay in the model, and {one.by} is compared at {one.column} = {value}.",
    )


def _alone_text(column: str, by: str, presence: Presence) -> str:
    return (
        f"{column} applies only at {_levels(by, presence.applies)}: the model uses only those rows; "
        f"{sum(presence.lacking.values()):,} of {presence.total:,} are left out. Add {by} to the formula to keep them."
    )


def _levels(by: str, levels: Iterable[object]) -> str:
    return f"{by} = {', '.join(map(str, levels))}"
