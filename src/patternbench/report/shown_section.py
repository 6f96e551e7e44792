"""Sections as every page shows them: cells as texts, long tables folded, figures without what the page sets itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from patternbench.observe.section import Drawing, Figure, Section, Spec, Table
from patternbench.terms.quantities import number

MANY_ROWS = 30
"""A longer table is folded, so that what is below it can be reached."""


@dataclass(frozen=True)
class ShownTable:
    """A table in texts; ``spans`` has how many rows each first cell is for, ``looks`` how texts of each column look."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    spans: Sequence[int]
    looks: Sequence[Mapping[str, str]]
    note: str

    @property
    def folded(self) -> bool:
        """Whether it is too long to be passed by."""
        return len(self.rows) > MANY_ROWS


@dataclass(frozen=True)
class ShownSection:
    """A section with its tables in texts."""

    anchor: str
    title: str
    words: Sequence[str]
    points: Sequence[str]
    warnings: Sequence[str]
    drawings: Sequence[Drawing]
    tables: Sequence[ShownTable]
    figures: Sequence[Figure]
    answers: Sequence[str] = ()
    look: str = "open"


def shown(section: Section) -> ShownSection:
    """Return the section with its tables in texts."""
    return ShownSection(
        anchor=section.anchor,
        title=section.title,
        words=section.words,
        points=section.points,
        warnings=section.warnings,
        drawings=section.drawings,
        tables=[_in_texts(table) for table in section.tables],
        figures=section.figures,
        answers=section.answers,
        look=section.look,
    )


def drawn(sections: Sequence[Section]) -> list[list[Spec]]:
    """Return the specifications of each section's figures, for the script of a page."""
    return [[bare(figure.spec) for figure in section.figures] for section in sections]


def bare(spec: Spec) -> Spec:
    """Leave out what the page sets itself: the theme, and the schema's address."""
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def _in_texts(table: Table) -> ShownTable:
    columns = list(table.frame.columns)
    rows = [[_entry(value) for value in row] for row in table.frame.itertuples(index=False)]
    spans = _spans([row[0] for row in rows]) if rows and _in_words(table.frame) else []
    looks = [table.looks.get(name, {}) for name in columns]
    return ShownTable(table.title, columns, rows, spans, looks, table.note)


def _in_words(frame: pd.DataFrame) -> bool:
    """Whether the first column names what the others measure."""
    return len(frame.columns) > 1 and not pd.api.types.is_numeric_dtype(frame.iloc[:, 0])


def _spans(names: Sequence[str]) -> list[int]:
    """How many rows each name is for: the number in its first row, 0 in the others."""
    runs = [len(list(run)) for _, run in itertools.groupby(names)]
    return [length if index == 0 else 0 for length in runs for index in range(length)]


def _entry(value: object) -> str:
    if isinstance(value, Markup):
        return value  # a picture that we drew
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)
