"""Warnings about the series of a round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from patternbench.observe.warning import RoundWarning
from patternbench.series.records.kept import SeenSeries

FEWEST_SCRAPES = 3
"""Scrapes per target at least; with fewer, too much happens between them."""


def warnings_of(seen: SeenSeries) -> Iterator[RoundWarning]:
    """Yield the warnings about the series of a round."""
    yield from _empty(seen)
    yield from _left_out(seen)
    yield from _down(seen)
    yield from _few_scrapes(seen)


def _empty(seen: SeenSeries) -> Iterator[RoundWarning]:
    samples = seen.samples
    measured = samples[(samples["second"] >= seen.requested.measured_from_s) & np.isfinite(samples["value"])]
    empty = [name for name in seen.requested.series if name not in set(measured["series"])]
    if empty:
        remedy = "try the query in Prometheus: check its metric, labels and windows"
        yield RoundWarning(
            "series_empty", f"Prometheus gave no value for {_quoted(empty)} in the measured part", remedy
        )


def _left_out(seen: SeenSeries) -> Iterator[RoundWarning]:
    for name, requested in seen.requested.series.items():
        if requested.left_out:
            text = f"`{name}` has {requested.label_sets:,} label sets, of which {requested.left_out:,} weren't kept"
            yield RoundWarning(
                "series_left_out", text, "aggregate in the query: sum by (...), max by (...), topk(10, ...)"
            )


def _down(seen: SeenSeries) -> Iterator[RoundWarning]:
    down = [f"{target.job} {target.instance}".strip() for target in seen.requested.targets if target.failed]
    if down:
        text = f"Prometheus failed to scrape {_quoted(dict.fromkeys(down))} at least once in the round"
        yield RoundWarning(
            "scrape_down", text, "its series have gaps; see its log, or the log of the scraped component"
        )


def _few_scrapes(seen: SeenSeries) -> Iterator[RoundWarning]:
    fewest = min((target.scrapes for target in seen.requested.targets), default=FEWEST_SCRAPES)
    if fewest < FEWEST_SCRAPES:
        text = f"a target was scraped {fewest} time{'' if fewest == 1 else 's'} in the round"
        yield RoundWarning("few_scrapes", text, "make rounds longer, or let Prometheus scrape more often")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
