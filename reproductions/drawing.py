"""Figures of pages: panels that figures.yaml describes in Vega-Lite, filled with what a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pandas as pd

from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.observe.section import Spec
from patternbench.report import svg
from patternbench.report.charts import COLOURS
from reproductions.pages import written

FILE = "figures.yaml"
_COLOURS: Mapping[str, object] = {f"colour {number}": colour for number, colour in enumerate(COLOURS)}


def panel(name: str, rows: Mapping[str, pd.DataFrame], **words: object) -> Spec:
    """Return a panel of figures.yaml; ``$NAME`` stands in it for the rows or the word of that name."""
    data = {key: {"values": _records(frame)} for key, frame in rows.items()}
    return cast(Spec, _filled(written(FILE, dict[str, Spec])[name], {**_COLOURS, **data, **words}))


def interval(one: ClaimedChange) -> dict[str, float]:
    """Return what a figure draws of a change."""
    return {"change": one.value, "low": one.low, "high": one.high}


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return rows as plain values; one that is not known is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


def _filled(part: object, values: Mapping[str, object]) -> object:
    if isinstance(part, str) and part.startswith("$"):
        return values[part[1:]]
    if isinstance(part, Mapping):
        return {name: _filled(one, values) for name, one in part.items()}
    return [_filled(one, values) for one in part] if isinstance(part, list) else part


def in_rows(panels: Sequence[Spec], columns: int) -> str:
    """Draw panels as SVG, in rows of this many ``columns``."""
    return svg.draw({"concat": list(panels), "columns": columns})


def in_a_row(panels: Sequence[Spec], **more: object) -> str:
    """Draw panels next to each other as SVG."""
    return svg.draw({"hconcat": list(panels), **more})


def side_by_side(*specs: Spec) -> Spec:
    """Several figures of a report in a row; each keeps its data, which Altair names by what they hold."""
    shared = ("$schema", "config", "datasets")
    data = {name: rows for one in specs for name, rows in cast(Spec, one.get("datasets", {})).items()}
    return {"hconcat": [{k: v for k, v in one.items() if k not in shared} for one in specs], "datasets": data}
