"""What reading costs against size: a round's responses next to DuckDB by hand, least squares next to statsmodels.

    python benchmarks/analysis/sizes.py [--largest ROWS] [--out FILE]

Each case runs in a fresh process, one after the other at each size. DuckDB computes far less by hand (counts, and five
quantiles of calls). A peer that is not installed is left out; statsmodels stops at a million rows, because it holds
several copies of the table.
"""

# ruff: noqa: PLC0415 - a case pays for its own imports only

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
BLOCK, USERS = 1 << 17, 200
MOST_OF_STATSMODELS = 1_000_000
FORMULA = "p95 ~ users + limit + C(strategy)"
QUERY = """
with calls as (select "user", call, min(intended_us) as began, max(end_us) as ended, bool_or(success) as good
               from '{file}' where not warm_up group by all)
select count(*), sum(good::int), quantile_cont((ended - began) / 1e6, [0.5, 0.9, 0.95, 0.99, 0.999]) from calls
"""


def write_round(path: Path, rows: int) -> None:
    """Write a round in which one call in ten is tried again."""
    from patternbench.records.attempts import SCHEMA, Batch, from_batches

    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as file:
        for begin in range(0, rows, BLOCK):
            at = np.arange(begin, min(begin + BLOCK, rows))
            turn, failed = at // USERS, rng.random(len(at)) < 0.1
            again = turn % 10 == 9
            took = rng.lognormal(8, 0.7, len(at)).astype(np.int64) + 100
            start = turn * 20_000
            status = np.where(failed, 0, 200).astype(np.int16)
            outcome = failed.astype(np.int8)
            call = turn - again
            file.write_table(from_batches([Batch(at % USERS, call, 1 + again, start, took, outcome, status)], False))


def write_table(path: Path, rows: int) -> None:
    """Write a table of three factors and a response."""
    rng, writer = np.random.default_rng(1), None
    for begin in range(0, rows, BLOCK):
        n = min(BLOCK, rows - begin)
        users, limit = rng.integers(1, 100, n), rng.integers(1, 2000, n)
        strategy = rng.choice(["baseline", "retry", "breaker"], n)
        p95 = 20 + 0.3 * users - 0.001 * limit + 4 * (strategy == "retry") + rng.normal(size=n)
        table = pa.table({"users": users, "limit": limit, "strategy": strategy, "p95": p95})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def ours_round(path: Path) -> None:
    from patternbench.analyze.metrics import summary_of
    from patternbench.records import attempts

    summary_of(attempts.of_round(path))


def duckdb_round(path: Path) -> None:
    import duckdb

    duckdb.execute(QUERY.format(file=path)).fetchall()


def ours_table(path: Path) -> None:
    from patternbench.analyze.blocks import in_blocks
    from patternbench.analyze.models.by_blocks import estimates
    from patternbench.records.tables import read_in_blocks

    estimates(in_blocks(read_in_blocks(path)), FORMULA)


def statsmodels_table(path: Path) -> None:
    import statsmodels.formula.api as smf

    smf.ols(FORMULA, pd.read_parquet(path)).fit().summary()


CASES: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], None]]] = {
    "round, patternbench": (write_round, ours_round),
    "round, DuckDB by hand": (write_round, duckdb_round),
    "least squares, patternbench": (write_table, ours_table),
    "least squares, statsmodels": (write_table, statsmodels_table),
}


def measure(case: str, path: Path) -> dict[str, float]:
    """Measure a case in this process; its imports are part of it."""
    wall, cpu = time.perf_counter(), time.process_time()
    CASES[case][1](path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "memory_gb": peak}


def results(largest: int, folder: Path) -> list[dict[str, object]]:
    """Measure all cases at all sizes, each in a process of its own."""
    found: list[dict[str, object]] = []
    for rows in (size for size in SIZES if size <= largest):
        for case, (write, _) in CASES.items():
            absent = "DuckDB" in case and importlib.util.find_spec("duckdb") is None
            if absent or ("statsmodels" in case and rows > MOST_OF_STATSMODELS):
                continue
            path = folder / f"{write.__name__}-{rows}.parquet"
            if not path.exists():
                write(path, rows)
            command = [sys.executable, __file__, "--one", case, "--file", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append({"case": case, "rows": rows, **json.loads(done.stdout)})
            print(found[-1], file=sys.stderr)
    return found


def main() -> None:
    """Measure, print a table, and write the raw results where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = results(chosen.largest, Path(folder))
    machine = {"cores": os.cpu_count(), "kernel": platform.release(), "load_average": os.getloadavg()[0]}
    print("| case | rows | wall, s | CPU, s | memory, GB |\n|---|---|---|---|---|")
    for one in found:
        print(
            f"| {one['case']} | {one['rows']:,} | {one['wall_s']:.2f} | {one['cpu_s']:.2f} | {one['memory_gb']:.2f} |"
        )
    if chosen.out:
        chosen.out.write_text(json.dumps({"machine": machine, "results": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
