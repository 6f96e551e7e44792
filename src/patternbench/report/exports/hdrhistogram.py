"""A log of HdrHistogram: the times of each round as a histogram that keeps three digits of every time.

Source: the format of the project's Java library, version 1.3 of the log and version 2 of the histograms
(``HistogramLogWriter``, ``EncodableHistogram``), https://github.com/HdrHistogram/HdrHistogram. Histograms of all rounds
have the same layout unless one has a time above an hour, so that any of them can be added.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from patternbench.analyze.times import CountedTimes
from patternbench.records.journal import Entry
from patternbench.report.exports.rounds import ExportedRun
from patternbench.terms.arrays import Ints
from patternbench.terms.visible import visible

DIGITS = 3
HALF_BITS = 10
"""The bits of half a bucket's cells: 2,048 cells are the first power of two that keeps three digits."""
HOUR_US = 3_600_000_000
_COOKIE, _COMPRESSED = 0x1C849303 | 0x10, 0x1C849304 | 0x10
_HEADER = ">IIIIQQd"
"""Cookie, bytes of counts, offset, digits, lowest and highest value, ratio to the values' unit."""
_MORE = 0x80


def write(run: ExportedRun, rounds: Sequence[Entry], path: Path) -> None:
    """Write one line for each round and each kind of its times: calls and attempts, good and failed."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in _lines(run, rounds))


def _lines(run: ExportedRun, rounds: Sequence[Entry]) -> Iterator[str]:
    began = min((entry.started for entry in rounds), default=0.0)
    yield "#[Histogram log format version 1.3]"
    how = "run in simulated time" if run.simulated else "run"
    yield f"#[times in microseconds, of the study {visible(run.study)}, {how} of {run.began}]"
    for scenario, words in run.scenarios(rounds).items():
        yield f"#[scenario {scenario}: {visible(words)}]"
    yield f"#[StartTime: {began:.3f} (seconds since epoch), {datetime.fromtimestamp(began, UTC).isoformat()}]"
    yield f"#[BaseTime: {began:.3f} (seconds since epoch)]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    for entry in sorted(rounds, key=lambda one: one.started):
        for times in run.times(entry).times:
            if times.count:
                yield _line(entry, times, entry.started - began)


def _line(entry: Entry, times: CountedTimes, since: float) -> str:
    """Return the line of an interval; its greatest time is in milliseconds, as readers of such logs expect."""
    tag = f"{entry.scenario}.{times.kind}.{'good' if times.good else 'failed'}{'' if entry.valid else '.invalid'}"
    most = int(times.values_us[-1])
    return f"Tag={tag},{since:.3f},{entry.seconds:.3f},{most / 1000:.3f},{encoded(times.values_us, times.counts)}"


def encoded(values: Ints, counts: Ints) -> str:
    """Return a histogram of times in order as a log holds it: compressed, in base 64."""
    cells = np.bincount(cells_of(values), weights=counts.astype(np.float64)).astype(np.int64)
    content = b"".join(_words_of(cells))
    highest = max(HOUR_US, int(values[-1]))
    payload = zlib.compress(struct.pack(_HEADER, _COOKIE, len(content), 0, DIGITS, 1, highest, 1.0) + content)
    return base64.b64encode(struct.pack(">II", _COMPRESSED, len(payload)) + payload).decode("ascii")


def cells_of(values: Ints) -> Ints:
    """Return the number of the cell of each time: those below 2,048 have their own, then their width doubles."""
    width = np.frexp((values | ((2 << HALF_BITS) - 1)).astype(np.float64))[1].astype(np.int64) - (HALF_BITS + 1)
    cells: Ints = ((width + 1) << HALF_BITS) + (values >> width) - (1 << HALF_BITS)
    return cells


def _words_of(cells: Ints) -> Iterator[bytes]:
    """Yield counts as words of variable length; cells without a time are one negative word for all in a row."""
    empty = 0
    for count in cells.tolist():
        if not count:
            empty += 1
            continue
        if empty:
            yield _word(-empty)
        empty = 0
        yield _word(count)


def _word(value: int) -> bytes:
    """Return a whole number as ZigZag LEB128: seven bits a byte, the lowest first; counts stay far below 2^55."""
    left = (value << 1) ^ (value >> 63)
    made = bytearray()
    while left >= _MORE:
        made.append(left & (_MORE - 1) | _MORE)
        left >>= 7
    return bytes([*made, left])
