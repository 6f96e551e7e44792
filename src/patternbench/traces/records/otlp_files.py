"""Traces in files, as a collector writes them (``otlpjsonfile``): an OTLP request in JSON on each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from patternbench.terms.problems import InputError, Problem, reason
from patternbench.traces.analyze.trees import TracedRequest, forest
from patternbench.traces.receive.otlp import JSON, BodyError, SpanRow, batch_of, decoded
from patternbench.traces.receive.spool import table

IDS = ["trace_id", "span_id"]
_HINT = "export traces with a collector's `file` exporter, in its format `json`"


def requests(file: Path) -> list[TracedRequest]:
    """Return the requests of a file that were traced whole, in the order in which they began. Raises InputError."""
    spans = table(list(_rows(file))).to_pandas().drop_duplicates(IDS)
    found = list(forest(spans).requests)
    if not found:
        raise InputError(Problem("holds no request that was traced whole", file=str(file), hint=_HINT))
    return found


def _rows(file: Path) -> Iterator[SpanRow]:
    """Yield the spans of a file; those that can't be kept, such as one without an end, are left out."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from _of_line(line, file, number)
    except OSError as error:
        raise InputError(Problem(f"can't be read: {reason(error)}", file=str(file))) from None


def _of_line(line: bytes, file: Path, number: int) -> list[SpanRow]:
    try:
        return batch_of(decoded(line, JSON)).rows
    except BodyError as error:
        raise InputError(Problem(str(error), file=str(file), line=number, hint=_HINT)) from None
