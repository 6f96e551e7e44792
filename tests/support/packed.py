"""The data of a page, as its script sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from patternbench.report.packing import COLUMNS


def data_of(page: str) -> Any:
    """The data of a page's script."""
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    return unpacked(json.loads(text))


def unpacked(data: Mapping[str, Any]) -> Any:
    """What ``packing.packed`` was given."""
    return _unpacked(data["rest"], data["columns"])


def _unpacked(value: Any, columns: Sequence[Sequence[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpacked(inner, columns) for inner in value]
    if not isinstance(value, dict):
        return value
    if COLUMNS in value:
        named = {key: _unpacked(columns[number], columns) for key, number in value[COLUMNS].items()}
        return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]
    return {key: _unpacked(inner, columns) for key, inner in value.items()}
