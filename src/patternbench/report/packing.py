"""A page's data in few bytes: rows of equal keys become columns, and equal columns are written once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

COLUMNS = "$columns"
"""The key that stands for rows; ``unpacked`` in ``page.js`` makes the rows again."""
_EXACT = 2**53


@dataclass
class _WrittenColumns:
    """The columns so far, and the number of each by its JSON."""

    written: list[list[object]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, values: list[object]) -> int:
        text = json.dumps(values, default=str)
        if text not in self.numbers:
            self.numbers[text] = len(self.written)
            self.written.append(values)
        return self.numbers[text]


def packed(data: Mapping[str, object]) -> dict[str, object]:
    """Replace each list of rows with equal keys by the numbers of its columns, which are in ``columns``."""
    columns = _WrittenColumns()
    rest = {key: _packed(value, columns) for key, value in data.items()}
    return {"columns": columns.written, "rest": rest}


def _packed(value: object, columns: _WrittenColumns) -> object:
    if isinstance(value, Mapping):
        return {key: _packed(inner, columns) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        keys = _keys(value)
        if keys is None:
            return [_packed(inner, columns) for inner in value]
        return {COLUMNS: {key: columns.number([_packed(row[key], columns) for row in value]) for key in keys}}
    return _short(value)


def _keys(rows: Sequence[object]) -> list[str] | None:
    """Return the keys that all rows have; None if these aren't rows, or too few to gain by it."""
    first = rows[0] if len(rows) > 1 else None
    if not isinstance(first, Mapping) or not first:
        return None
    same = all(isinstance(row, Mapping) and row.keys() == first.keys() for row in rows)
    return list(first) if same else None


def _short(value: object) -> object:
    """Write a whole number without its decimals: 100 instead of 100.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
