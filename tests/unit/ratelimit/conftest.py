"""A run whose balancers kept their decisions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder

LIMIT = {"algorithm": "fixed_window", "limit": 2, "window": "1s", "store": "redis"}
HEAD = "time_us\tbalancer\tworker\tclient\tlimit\talgorithm\tcost\tallowed\tremaining\tdecided_by\n"


def _three_attempts() -> pa.Table:
    """The attempts that the entry of the journal tells of: what they hold does not matter here."""
    three = np.arange(3)
    batch = Batch(three, 0 * three, 1 + 0 * three, three, three, np.zeros(3, np.int8), 200 + 0 * three)
    return attempts.from_batches([batch], warm_up=False)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of one round: three requests of one client at once on a limit of two, over two balancers."""
    scenario = {"id": "s", "levels": {}, "config": {"system": {"settings": {}}}}
    plan = {"factors": {}, "scenarios": [scenario], "rounds": [{"index": 0, "block": 0, "scenario": "s"}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    entry = {"round": 0, "block": 0, "scenario": "s", "status": "done", "file": "00000", "started": 0.0}
    entry |= {"seconds": 1.0, "rows": 3, "cause": None, "cpu_seconds": 0.1, "doubts": []}
    (tmp_path / "journal.jsonl").write_text(json.dumps(entry) + "\n")
    (tmp_path / "attempts").mkdir()
    attempts.write(RunFolder(tmp_path).attempts_of("00000"), _three_attempts())
    for place, lines in (("one", [(1, 1), (3, 0)]), ("two", [(2, 1)])):
        folder = tmp_path / "component-logs" / "00000" / place
        folder.mkdir(parents=True)
        rows = [f"{10_000_000 + t}\t{place}\t0\tann\tl\tfixed_window\t1\t{ok}\t0\tstore\n" for t, ok in lines]
        (folder / f"decisions-{place}-1.tsv.gz").write_bytes(gzip.compress((HEAD + "".join(rows)).encode()))
        limits = {"balancers": 2, "limits": [LIMIT]}
        (folder / "plan.json.gz").write_bytes(gzip.compress(json.dumps(limits).encode()))
    return RunFolder(tmp_path)
