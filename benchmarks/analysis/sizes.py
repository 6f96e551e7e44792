"""What reading and fitting cost against size, next to DuckDB and statsmodels by hand, over three decades of rows.

    .venv/bin/python -m benchmarks.analysis.sizes [--rounds N] [--largest ROWS] [--out FILE]

A round visits every case at every size once, each in a process of its own, so that what slows a round down cancels
from ratios within it. Imports and the writing of files do not count; reading them does. By hand much less is computed:
DuckDB counts calls and takes five quantiles of them; statsmodels makes its summary and two tests of residuals.
DuckDB is left out where it is not installed.
"""

# ruff: noqa: PLC0415 - a case pays for its own imports only

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.analysis.run import CONFIGURATIONS, study
from benchmarks.analysis.tables import DUCKDB, FIVE, OURS, PART, READ, SQUARES, STATSMODELS, printed
from benchmarks.common import own_peak_mib
from benchmarks.evidence import Result, store

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
OF_FIVE = (1_040, 10_400, 104_000, 1_040_000)
BLOCK, USERS = 1 << 17, 200
MOST_OF_STATSMODELS = 1_040_000
"""It holds several copies of a table."""
FORMULA = "p95 ~ users + limit + C(strategy)"
QUERY = """
with calls as (select "user", call, min(intended_us) as began, max(end_us) as ended, bool_or(success) as good
               from '{file}' where not warm_up group by all)
select count(*), sum(good::int), quantile_cont((ended - began) / 1e6, [0.5, 0.9, 0.95, 0.99, 0.999]) from calls
"""
MODULE = "benchmarks.analysis.sizes"
Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """Something to do with a file of a size, and who does it; ``prepared`` imports what that needs."""

    what: str
    who: str
    sizes: tuple[int, ...]
    write: Callable[[Path, int], None]
    prepared: Callable[[Path], Work]


def write_round(path: Path, rows: int, seed: int = 1) -> None:
    """Write a round in which one call in ten is tried again."""
    from patternbench.records.attempts import SCHEMA, from_batches
    from patternbench.records.batches import Batch

    rng = np.random.default_rng(seed)
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


def write_study(path: Path, rows: int) -> None:
    """Write the table of the 2023 study, to which its five models are fitted."""
    study().generate(rounds=rows // CONFIGURATIONS).to_parquet(path)


def ours_round(path: Path) -> Work:
    from patternbench.analyze.metrics import summary_of
    from patternbench.records import attempts

    return lambda: summary_of(attempts.of_round(path))


def duckdb_round(path: Path) -> Work:
    import duckdb

    return lambda: duckdb.execute(QUERY.format(file=path)).fetchall()


def ours_table(path: Path) -> Work:
    from patternbench.analyze.blocks import in_blocks
    from patternbench.analyze.models.by_blocks import estimates
    from patternbench.records.tables import read_in_blocks

    return lambda: estimates(in_blocks(read_in_blocks(path)), FORMULA)


def statsmodels_table(path: Path) -> Work:
    import statsmodels.formula.api as smf

    return lambda: smf.ols(FORMULA, pd.read_parquet(path)).fit().summary()


def ours_five(path: Path) -> Work:
    from patternbench.records.tables import read_table

    generated = study()
    return lambda: generated.fit_formulas(read_table(path), generated.FORMULAS)


def statsmodels_five(path: Path) -> Work:
    import statsmodels.formula.api as smf
    from statsmodels.stats.diagnostic import het_breuschpagan, normal_ad

    formulas = study().FORMULAS

    def work() -> None:
        table = pd.read_parquet(path)
        for left, right in (formula.split("~") for formula in formulas):
            for response in left.split("+"):
                fitted = smf.ols(f"{response} ~ {right}", table).fit()
                fitted.summary()
                het_breuschpagan(fitted.resid, fitted.model.exog)
                normal_ad(fitted.resid)

    return work


def up_to(sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return the sizes up to one."""
    return tuple(size for size in sizes if size <= most)


CASES = (
    Case(READ, OURS, SIZES, write_round, ours_round),
    Case(READ, DUCKDB, SIZES, write_round, duckdb_round),
    Case(SQUARES, OURS, SIZES, write_table, ours_table),
    Case(SQUARES, STATSMODELS, up_to(SIZES, MOST_OF_STATSMODELS), write_table, statsmodels_table),
    Case(FIVE, OURS, OF_FIVE, write_study, ours_five),
    Case(FIVE, STATSMODELS, OF_FIVE, write_study, statsmodels_five),
)


def measure(case: Case, path: Path) -> Result:
    """Measure a case in this process."""
    work = case.prepared(path)
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    peak = own_peak_mib()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "memory_mib": peak}


def measured(rounds: int, largest: int, folder: Path) -> Iterator[Result]:
    """Yield what each case takes in each round; the order of cases turns around from round to round."""
    cases = [(place, case) for place, case in enumerate(CASES) if case.who != DUCKDB or find_spec("duckdb")]
    for number in range(rounds):
        for place, case in cases if number % 2 == 0 else cases[::-1]:
            for rows in up_to(case.sizes, largest):
                path = folder / f"{case.write.__name__}-{rows}.parquet"
                if not path.exists():
                    case.write(path, rows)
                command = [sys.executable, "-m", MODULE, "--one", str(place), "--file", str(path)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                row = {"what": case.what, "who": case.who, "size": rows, "round": number, **json.loads(done.stdout)}
                print(row, file=sys.stderr)
                yield row


def main() -> None:
    """Measure, print the tables, and keep the raw results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        print(json.dumps(measure(CASES[chosen.one], chosen.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = list(measured(chosen.rounds, chosen.largest, Path(folder)))
    absent = [] if find_spec("duckdb") else ["DuckDB"]
    print(printed(store(PART, {"rounds": chosen.rounds}, chosen.out, absent=absent, rounds=rows)))


if __name__ == "__main__":
    main()
