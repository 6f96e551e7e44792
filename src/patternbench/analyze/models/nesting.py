"""Factors that apply only at some levels of another factor, such as a back-off's delay that only retries have.

Where such a factor does not apply its value is null. Leaving those rows out would silently drop the baseline. When
the formula also holds the factor that decides where it applies (``C(strategy)``), the rows stay: a constant stands in
for the null. The deciding factor's own coefficients absorb that constant, so the slope is estimated from the rows
where the factor applies and from no others (a nested effect); only what the deciding factor's coefficients are
measured at changes, and a note says so. Source of the idea: nested effects, Montgomery, Design and Analysis of
Experiments, chapter 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from patternbench.terms.data_problems import DataProblem, Note
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable

_MOST_DECIDED = 50
#: From this share of values on a factor applies at a level, and what lacks there is missing.
_MOSTLY = 0.5


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
        if by := decider(table, column, (name for name in columns if name in categorical), factors):
            nests.append(_nest(table, column, by, column in categorical))
            notes.append(Note("nested", _nested_text(table, nests[-1], factors)))
        elif by := decider(table, column, _outside(table, columns), factors):
            alone.append(column)
            notes.append(Note("not_applicable", _alone_text(table, column, by)))
    filled = {one.column: table[one.column].where(table[one.by].isin(one.applies), one.stand_in) for one in nests}
    return Nested(table.assign(**filled), tuple(nests), tuple(alone), tuple(notes))


def decider(table: pd.DataFrame, column: str, among: Iterable[str], factors: FactorTable = NOTHING_KNOWN) -> str | None:
    """Return the column at some of whose levels ``column`` never has a value and at the others mostly has, or None.

    Each level must be in two rows on average, so that rows that happen to lack a value don't decide.
    """
    present = table[column].notna()
    names = sorted((name for name in among if name != column), key=lambda name: name not in factors.patterns)
    for name in names:
        levels = table[name].nunique()
        if table[name].isna().any() or not 1 < levels <= min(_MOST_DECIDED, len(table) // 2):
            continue
        shares = present.groupby(table[name], observed=True).mean()
        if bool((shares == 0).any() and ((shares == 0) | (shares >= _MOSTLY)).all()):
            return name
    return None


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


def _nest(table: pd.DataFrame, column: str, by: str, category: bool) -> Nest:
    values = table[column].dropna()
    applies = tuple(sorted(table.loc[values.index, by].unique(), key=str))
    stand_in = sorted(values.unique(), key=lambda v: (str(type(v)), v))[0] if category else float(values.mean())
    return Nest(column, by, applies, stand_in)


def _nested_text(table: pd.DataFrame, one: Nest, factors: FactorTable) -> str:
    count = int((~table[one.by].isin(one.applies)).sum())
    value = factors.text(one.column, one.stand_in)
    return (
        f"{one.column} applies only at {_levels(one.by, one.applies)}: its effect is estimated there, the other "
        f"{count:,} rows stay in the model, and {one.by} is compared at {one.column} = {value}."
    )


def _alone_text(table: pd.DataFrame, column: str, by: str) -> str:
    present = table[column].notna()
    levels = _levels(by, sorted(table.loc[present, by].unique(), key=str))
    return (
        f"{column} applies only at {levels}: the model uses only those rows; {int((~present).sum()):,} of "
        f"{len(table):,} are left out. Add {by} to the formula to keep them."
    )


def _levels(by: str, levels: Iterable[object]) -> str:
    return f"{by} = {', '.join(map(str, levels))}"
