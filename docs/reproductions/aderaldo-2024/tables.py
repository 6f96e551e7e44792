"""Prints the tables of docs/reproductions/aderaldo-2024.md from the rounds beside it.

.venv/bin/python docs/reproductions/aderaldo-2024/tables.py [RUN/rounds.parquet]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

KEYS = ["client", "strategy", "delay"]
WORLD = ["users", "abort.percentage"]


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "rounds.parquet"
    medians = medians_of(pd.read_parquet(path))
    for response, scale, unit in (("AverageSuccessTime", 1000, "ms"), ("TotalExecutionTime", 1, "s")):
        print(f"\n{response}, median over rounds, {unit}\n")
        print(markdown((medians[response] * scale).unstack(WORLD).round(0 if unit == "ms" else 2)))
        print(f"\n{response} against baseline, mean over users, percent\n")
        print(markdown(against_baseline(medians[response]).round(0)))


def medians_of(rounds: pd.DataFrame) -> pd.DataFrame:
    """The median over rounds of each scenario."""
    delay = rounds["retry.backoff.exponential.initial"].fillna(rounds["circuit_breaker.open_for"]).fillna(0)
    rounds = rounds.assign(delay=(delay * 1000).round().astype(int))
    return rounds.groupby(KEYS + WORLD)[["AverageSuccessTime", "TotalExecutionTime"]].median()


def against_baseline(medians: pd.Series[float]) -> pd.DataFrame:
    """The change against the same client's baseline under the same users and faults, averaged over users."""
    table = medians.unstack(WORLD)
    baseline = table.xs(("baseline", 0), level=["strategy", "delay"])
    rows = {key: (row / baseline.loc[key[0]] - 1) * 100 for key, row in table.iterrows() if key[1] != "baseline"}
    changes = pd.DataFrame(rows).T.rename_axis(index=KEYS)
    return changes.T.groupby(level="abort.percentage").mean().T


def markdown(table: pd.DataFrame) -> str:
    """A data frame as a Markdown table."""
    names = [" / ".join(f"{part:g}" for part in (c if isinstance(c, tuple) else (c,))) for c in table.columns]
    head = ["client", "strategy", "delay, ms", *names]
    lines = [head, ["---"] * len(head)]
    lines += [
        [*map(str, key), *(f"{value:g}" for value in row)]
        for key, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
