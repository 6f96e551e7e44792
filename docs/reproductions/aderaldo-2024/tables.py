"""Prints the tables of docs/reproductions/aderaldo-2024.md from the rounds next to it.

    .venv/bin/python docs/reproductions/aderaldo-2024/tables.py [RUN/rounds.parquet] [--write]

With `--write` the tables are put into the page. `verdicts.py` does the same for the table of verdicts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[3]))

import pages
from benchmarks.evidence import spread

from patternbench.report.model import counting
from patternbench.report.sections.harness import costs_us

KEYS = ["client", "strategy", "delay"]
WORLD = ["users", "abort.percentage"]
PAGE = Path(__file__).parents[1] / "aderaldo-2024.md"
FIRST, REMADE = (Path(__file__).parent / name for name in ("rounds.parquet", "remade.parquet"))
"""The rounds of the first run, and those of the one that `remake.py` was given."""


def main() -> None:
    """Print the tables, or write them into the page."""
    text = printed(rounds_of(sys.argv[1:]))
    rewritten("tables", text) if "--write" in sys.argv else print(text)


def rounds_of(arguments: list[str]) -> pd.DataFrame:
    """The rounds that count, of the file that the arguments name, or of those next to this page."""
    return counting(all_rounds_of(arguments))


def all_rounds_of(arguments: list[str]) -> pd.DataFrame:
    """The same with those that failed or are not valid."""
    named = [argument for argument in arguments if not argument.startswith("--")]
    return pd.read_parquet(named[0] if named else stored())


def stored() -> Path:
    """The rounds that the page is made of."""
    return REMADE if REMADE.is_file() else FIRST


def rewritten(part: str, text: str) -> None:
    """Put `text` between the page's marks of `part`."""
    start, end = f"<!-- {part} -->\n", f"\n<!-- end of {part} -->"
    before, rest = PAGE.read_text().split(start)
    PAGE.write_text(before + start + text + end + rest.split(end)[1])


def printed(rounds: pd.DataFrame) -> str:
    """All tables as Markdown."""
    medians, parts = medians_of(rounds), []
    for response, scale, unit in (("AverageSuccessTime", 1000, "ms"), ("TotalExecutionTime", 1, "s")):
        parts.append(f"**{response}, median over rounds, {unit}**")
        parts.append(markdown((medians[response] * scale).unstack(WORLD).round(0 if unit == "ms" else 2)))
        parts.append(f"**{response} against baseline, mean over users, percent**")
        parts.append(markdown(against_baseline(medians[response]).round(0)))
    return "\n\n".join([*parts, *harnesses(rounds)])


def harnesses(rounds: pd.DataFrame) -> Iterator[str]:
    """What each client costs by itself, so that no library is blamed for its harness; nothing where it is unknown."""
    costs = costs_us(rounds).groupby("client")["cpu_us"]
    if len(costs):
        yield "**CPU time of each client per attempt without a pattern, us: median over rounds [smallest, largest]**"
        yield pages.table(["client", "CPU time, us"], ([name, spread(values.tolist())] for name, values in costs))


def facts(every: pd.DataFrame) -> str:
    """What the rounds are, and how many of them do not count."""
    rounds = counting(every)
    clients = sorted(rounds["client"].unique())
    told = (
        f"{rounds['scenario'].nunique():,} scenarios, {len(rounds):,} rounds in {rounds['block'].nunique()} blocks. "
        f"Clients: {', '.join(clients)}."
    )
    left_out = len(every) - len(rounds)
    return f"{told} Left out: {left_out:,} rounds that failed or are not valid." if left_out else told


def medians_of(rounds: pd.DataFrame) -> pd.DataFrame:
    """The median over rounds of each scenario."""
    return with_delay(rounds).groupby(KEYS + WORLD)[["AverageSuccessTime", "TotalExecutionTime"]].median()


def with_delay(rounds: pd.DataFrame) -> pd.DataFrame:
    """The rounds with a column `delay`: the back-off, or how long the breaker stays open, in ms; 0 without either."""
    delay = rounds["retry.backoff.exponential.initial"].fillna(rounds["circuit_breaker.open_for"]).fillna(0)
    return rounds.assign(delay=(delay * 1000).round().astype(int))


def against_baseline(medians: pd.Series[float]) -> pd.DataFrame:
    """The change against the same client's baseline under the same users and faults, averaged over users."""
    table = medians.unstack(WORLD)
    baseline = table.xs(("baseline", 0), level=["strategy", "delay"])
    rows = {key: (row / baseline.loc[key[0]] - 1) * 100 for key, row in table.iterrows() if key[1] != "baseline"}
    changes = pd.DataFrame(rows).T.rename_axis(index=KEYS)
    return changes.T.groupby(level="abort.percentage").mean().T


def markdown(table: pd.DataFrame) -> str:
    """A data frame as a Markdown table; what was not run is an empty cell."""
    names = [" / ".join(f"{part:g}" for part in (c if isinstance(c, tuple) else (c,))) for c in table.columns]
    head = ["client", "strategy", "delay, ms", *names]
    lines = [head, ["---"] * len(head)]
    lines += [
        [*map(str, key), *("" if np.isnan(value) else f"{value + 0.0:g}" for value in row)]
        for key, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
