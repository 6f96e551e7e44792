"""The warm-up is in no summary of traces either."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.spans import BEGUN_NS, NS_PER_MS, keep, span, table

from patternbench.observe.seam import RoundFiles
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.study.watching import Traces
from patternbench.traces import observer
from patternbench.traces.columns import schema
from patternbench.traces.records.collected import COUNTS, read
from patternbench.traces.report.bars import figures
from patternbench.traces.responses import of_round

WARM_MS, COLD_MS = 10, 400
END_OF_WARM_UP_MS = 1000


def spans(cold: int, warm: int) -> list[dict[str, object]]:
    """Requests of the warm-up, which take long, and measured ones, which do not."""
    slow = [span(f"c{n}", "server", "shop", (n, n + COLD_MS), trace_id=f"c{n}", route="/x") for n in range(cold)]
    begin = END_OF_WARM_UP_MS + 1
    return [
        *slow,
        *(span(f"w{n}", "server", "shop", (begin, begin + WARM_MS), trace_id=f"w{n}", route="/x") for n in range(warm)),
    ]


def round_of(folder: Path, cold: int, warm: int) -> RoundFiles:
    """A round whose warm-up attempts are slow."""
    keep(folder / "traces", table(*spans(cold, warm)))
    counts = json.loads((folder / "traces" / COUNTS).read_text())
    counts["measured_from_ns"] = BEGUN_NS + END_OF_WARM_UP_MS * NS_PER_MS
    (folder / "traces" / COUNTS).write_text(json.dumps(counts))
    parts = [rows(cold, COLD_MS, warm_up=True), rows(warm, WARM_MS + 2, warm_up=False)]
    attempts.write(folder / "a.parquet", pa.concat_tables(parts))
    return RoundFiles({}, folder / "traces", folder / "a.parquet")


def rows(number: int, took_ms: int, warm_up: bool) -> pa.Table:
    zero = np.zeros(number, dtype=np.int64)
    status, calls = np.full(number, 200, dtype=np.int16), np.arange(number, dtype=np.int64)
    end = np.full(number, took_ms * 1000, dtype=np.int64)
    batch = Batch(zero, calls, zero + 1, zero, end, np.zeros(number, dtype=np.int8), status)
    return attempts.from_batches([batch], warm_up=warm_up)


def test_requests_and_attempts_of_the_warm_up_are_in_no_response_of_traces(tmp_path: Path) -> None:
    seen = read(round_of(tmp_path, cold=20, warm=30))
    assert seen is not None
    reported = of_round(seen)
    assert reported["traced_requests"] == seen.succeeded == 30
    assert reported["backend_time"] == pytest.approx(WARM_MS / 1000)
    assert seen.answered_s == pytest.approx((WARM_MS + 2) / 1000)
    assert reported["network_time"] == pytest.approx(0.002)


def test_a_run_in_which_no_span_came_has_a_report_without_bars() -> None:
    nothing = schema().empty_table().to_pandas()
    assert nothing.empty
    assert figures({}) == figures({"a": []}) == []


@pytest.mark.parametrize(
    ("port", "measured_from_s", "told_ns"), [(0, 12.5, 12_500_000_000), (0, math.nan, 0), (4317, 12.5, 0)]
)
def test_spans_count_from_the_end_of_the_warm_up_where_they_have_the_clock_of_the_load(
    port: int, measured_from_s: float, told_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(observer, "collected", lambda _, spans, *rest: kept.append(spans))
    watched: Any = SimpleNamespace(
        watch=SimpleNamespace(traces=Traces.model_validate({"sample": "100%", "port": port})),
        endpoints={observer.RECEIVER: "http://127.0.0.1:1"},
        folder=Path(),
        load=SimpleNamespace(measured_from=measured_from_s),
    )
    observer.OBSERVER.watch(watched)
    assert kept[0].measured_from_ns() == told_ns
