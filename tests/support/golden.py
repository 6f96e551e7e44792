"""What is rendered, held against a checked-in file; UPDATE_GOLDEN=1 rewrites it, for a person to read the difference.

Numbers have six significant digits, since the last ones differ between linear algebra libraries.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.packed import data_of

from patternbench.observe.section import Figure, Section

FOLDER = Path(__file__).parents[1] / "golden"
_DIGITS = 6
_SMALL = 1e-9
_LONG, _ENDS = 24, 5
_UNSEEN = re.compile(r"<(script|style|svg|head)\b.*?</\1>", re.DOTALL)
_OWN_LINE = re.compile(r"<(?=/?(p|h\d|li|tr|table|section|caption|summary|figcaption|dt|dd|pre|div)\b)")
_MARKED, _TOLD = (
    re.compile(r"<(td|th|p|span|li|section|details|a)\b[^>]*>"),
    ("class", "title", "rowspan", "id", "href"),
)
_DATA = re.compile(r"data-[0-9a-f]{32}")
_CELL = re.compile(r"</t[hd]>\s*(?=<t[hd])")


_NEAR_ZERO = 1e-3
_ROUNDING = re.compile(r"-?\d\.\d+e-[1-9]\d")
"""What rounding leaves of a number that is zero, which is other on other machines."""


def is_golden(name: str, found: object) -> None:
    """Hold a text, or data as JSON, against the file of that name."""
    path = FOLDER / name
    text = found if isinstance(found, str) else written(found)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not path.exists():
        pytest.fail(f"{path} is missing: run once with UPDATE_GOLDEN=1, and read what it holds")
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        assert _tokens(text) == _tokens(expected)


def _tokens(text: str) -> list[object]:
    """The words of a text; numbers may differ in their last digit."""
    told = _ROUNDING.sub("0", text)
    return [_token(token) for token in re.split(r"(?<![\w.])(-?\d+\.\d+(?:e[-+]\d+)?)(?![\w.])", told)]


def _token(token: str) -> object:
    if re.fullmatch(r"-?\d+\.\d+(e[-+]\d+)?", token):
        digits = len(token.partition("e")[0].replace(".", "").lstrip("-0"))
        if digits >= _DIGITS - 1:
            return pytest.approx(float(token), rel=3e-5)
        if "e" not in token and 0 < abs(float(token)) < _NEAR_ZERO:
            # What rounding leaves of large terms: its last digit may be another one elsewhere.
            return pytest.approx(float(token), abs=1.01 * 10.0 ** -len(token.partition(".")[2]))
    return token


def written(found: object) -> str:
    """Data as JSON, a line for each entry that holds no others."""
    return _lines(rounded(found), "") + "\n"


def _lines(value: Any, indent: str) -> str:
    flat = json.dumps(value, ensure_ascii=False, default=str)
    if not isinstance(value, (dict, list)) or len(flat) < 110 - len(indent):
        return flat
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_lines(part, indent + ' ')}" for key, part in value.items()]
    else:
        parts = [_lines(part, indent + " ") for part in value]
    inner = f",\n{indent} ".join(parts)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{indent} {inner}\n{indent}{end}"


def rounded(value: Any) -> Any:
    """Numbers with few digits, what is no number as its name, and everything else as JSON has it."""
    if isinstance(value, pd.DataFrame):
        return {str(name): rounded(list(column)) for name, column in value.items()}
    if isinstance(value, Mapping):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return _listed([rounded(one) for one in value])
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if hasattr(value, "item"):
        return rounded(value.item())
    return _number(value) if isinstance(value, float) else str(value)


def _listed(values: list[Any]) -> Any:
    """A list; of a long one its ends, and the sum of its numbers."""
    if len(values) <= _LONG:
        return values
    short: dict[str, object] = {"length": len(values), "first": values[:_ENDS], "last": values[-_ENDS:]}
    numbers = [float(one) for one in values if isinstance(one, (int, float))]
    return short | ({"sum": _number(sum(numbers))} if numbers else {})


def _number(value: float) -> object:
    if not math.isfinite(value):
        return str(value)
    return 0.0 if abs(value) < _SMALL else float(f"{value:.{_DIGITS}g}")


def words_of(page: str) -> str:
    """What a reader of a page sees: a line for each paragraph and row, cells apart, without scripts and drawings."""
    text = _UNSEEN.sub("", page)
    text = _CELL.sub(" | ", _MARKED.sub(_mark, text))
    text = re.sub("<[^>]*>", "", _OWN_LINE.sub("\n<", text))
    lines = (" ".join(html.unescape(line).split(" ")) for line in text.splitlines())
    return "\n".join(line for line in (re.sub("[ \t]+", " ", line).strip() for line in lines) if line) + "\n"


def _mark(tag: re.Match[str]) -> str:
    """A tag, then what its look and its tooltip say: better, ``−44.0 to −38.1 %``, that a cell is for several rows."""
    said = [value for name, value in re.findall(r'(\w+)="([^"]*)"', tag[0]) if name in _TOLD]
    return f"{tag[0]}{{{'; '.join(said)}}} " if said else tag[0]


def drawn_by(page: str) -> Any:
    """The data of a page's script, without the two themes, which are the same on every page.

    Altair names data by their hash, which the last digit of any number changes: here they are numbered.
    """
    drawn = {name: part for name, part in data_of(page).items() if name != "themes"}
    text = json.dumps(drawn, ensure_ascii=False)
    numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(_DATA.findall(text)), 1)}
    return json.loads(_DATA.sub(lambda name: f"data-{numbers[name[0]]}", text))


def is_golden_section(folder: str, section: Section) -> None:
    """Hold a section of a report against the files of its anchor: words, tables, what figures draw, drawings."""
    for number, drawing in enumerate(section.drawings, 1):
        is_golden(f"{folder}/{section.anchor}-{number}.svg", drawing.svg.replace("><", ">\n<") + "\n")
    plain = replace(section, tables=(), figures=(), drawings=())
    is_golden(
        f"{folder}/{section.anchor}.json",
        {
            "section": {name: value for name, value in vars(plain).items() if value},
            "tables": [{"title": one.title, "note": one.note, "rows": _rows(one.frame)} for one in section.tables],
            "figures": [_drawn(one) for one in section.figures],
            "drawings": [{"title": one.title, "caption": one.caption} for one in section.drawings],
        },
    )


def _rows(frame: pd.DataFrame) -> dict[str, str]:
    """A table as lines, for a person to read."""
    head = {"columns": " | ".join(map(str, frame.columns))}
    lines = frame.itertuples(index=False, name=None)
    return head | {str(number): " | ".join(map(_cell, line)) for number, line in enumerate(lines, 1)}


def _cell(value: object) -> str:
    return str(rounded(value))


def _drawn(figure: Figure) -> dict[str, object]:
    """A figure with its data as columns, which are numbered instead of named by their hash."""
    text = json.dumps(figure.spec, ensure_ascii=False, default=float)
    numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(_DATA.findall(text)), 1)}
    spec = json.loads(_DATA.sub(lambda name: f"data-{numbers[name[0]]}", text))
    data = {name: pd.DataFrame(listed) for name, listed in spec.pop("datasets", {}).items()}
    spec.pop("config", None)
    return {"title": figure.title, "caption": figure.caption, "spec": spec, "data": data}
