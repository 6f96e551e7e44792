"""What the insurance measured of two questions that the papers left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from reproductions.contrasts import (
    HIGHER,
    LOWER,
    PERCENT,
    PLAIN,
    SAME,
    Claim,
    Contrast,
    Floats,
    Key,
    by_block,
    contrast,
    verdicts,
)
from reproductions.markdown import counted, table, warned
from reproductions.pages import Tables, rounds_as

BUNDLING_KEPT, BREAKER_KEPT = "auto-bundling", "breaker"
"""The tables that are kept."""
COURSE = ("round", "block", "scenario", "status", "valid", "warnings")
OFFERED = ["rate", "users"]
BUNDLING = ("auto_bundle", "bundle_size", "bundle_wait")
BUNDLED = ("bundler_saved", "bundler_size", "p50", "p95", "system_cpu_s")
BREAKER = ("strategy", "limit")
ADMITTED = ("items_per_s", "limited_rate", "rejected_rate")
COLUMNS = (*COURSE, *OFFERED, *BUNDLING, *BUNDLED, *BREAKER, *ADMITTED)
READERS = {f"insurance-{name}": rounds_as(name, COLUMNS) for name in (BUNDLING_KEPT, BREAKER_KEPT)}
NONE = ("none", "", "")
MS_PER_S = 1000
QUESTION = "statement"


def parts(kept: Tables) -> dict[str, str]:
    """Every part of the page by its name."""
    bundling, breaker = (counted(kept[name]) for name in (BUNDLING_KEPT, BREAKER_KEPT))
    return {"automatic bundles": of_bundles(bundling), "breaker": of_breaker(breaker)}


def of_bundles(rounds: pd.DataFrame) -> str:
    """What bundles that a proxy forms save of calls and CPU time, and what they add to the median."""
    ours = Bundles(rounds)
    heads = ["requests/s", "callers", "bundle", "calls saved, %", "requests per bundle", "median, ms"]
    heads += ["added to the median, ms", "added to p95, ms", "CPU time of the system, %"]
    return "\n".join([table(heads, ours.rows()), "", verdicts(ours.claims(), QUESTION), "", warned(rounds)])


class Bundles:
    """Rounds with and without automatic bundles, compared within the load that was offered."""

    def __init__(self, rounds: pd.DataFrame) -> None:
        alone = rounds["auto_bundle"] == "none"
        ways = {name: rounds[name].astype(str).mask(alone, "") for name in BUNDLING[1:]}
        self._rounds = rounds.assign(auto_bundle=rounds["auto_bundle"].astype(str), **ways)
        self._values = {name: by_block(self._rounds, [*OFFERED, *BUNDLING], rounds[name]) for name in BUNDLED}
        self.loads = sorted({tuple(load) for load in rounds[OFFERED].itertuples(index=False)})
        self.ways = sorted({key[2:] for key in self._values["p50"]} - {NONE}, key=_rank)

    def rows(self) -> Iterator[list[str]]:
        """A row per load and way of bundling, those without bundles first."""
        for load in self.loads:
            yield [*map(_number, load), "none", "–", "–", self._median("p50", (*load, *NONE), MS_PER_S), "–", "–", "–"]
            yield from (self._row(load, way) for way in self.ways)

    def _row(self, load: Key, way: Key) -> list[str]:
        key = (*load, *way)
        reported = [self._median("bundler_saved", key), self._median("bundler_size", key)]
        reported += [self._median("p50", key, MS_PER_S), self._added("p50", load, way), self._added("p95", load, way)]
        cpu = contrast(*self._logs("system_cpu_s", load, way), PERCENT)
        return [*map(_number, load), f"up to {way[1]}, {_ms(way[2])}", *reported, _span(cpu, 0)]

    def _median(self, name: str, key: Key, scale: float = 1) -> str:
        values = self._values[name].get(key, np.array([np.nan])) * scale
        return f"{np.nanmedian(values):.1f}" if np.isfinite(values).any() else "–"

    def _added(self, name: str, load: Key, way: Key) -> str:
        before, after = (self._values[name][(*load, *levels)] * MS_PER_S for levels in (NONE, way))
        return _span(contrast(before, after, PLAIN), 1)

    def _logs(self, name: str, load: Key, way: Key) -> tuple[Floats, Floats]:
        before, after = (np.log(self._values[name][(*load, *levels)]) for levels in (NONE, way))
        return before, after

    def claims(self) -> Iterator[Claim]:
        """What one would expect of them, in general and where they fit."""
        longest, alone = self.ways[-1][2], min(users for _, users in self.loads)
        waits = dict.fromkeys(wait for _, _, wait in self.ways)
        slower = [np.mean([self._over("p50", load, wait) for load in self.loads], axis=0) for wait in waits]
        yield Claim("Each wait costs time (median), over all loads", HIGHER, [(a, b) for a, b in slower])
        for users in sorted({users for _, users in self.loads}):
            callers = "one caller" if users == 1 else f"{users:g} callers"
            cpu = [self._over("system_cpu_s", load, longest) for load in self.loads if load[1] == users]
            yield Claim(f"Bundles of {callers} cut the CPU time of the system, waiting {_ms(longest)}", LOWER, cpu)
        busiest = max(load for load in self.loads if load[1] == alone)
        at = f"at {busiest[0]:g} requests per second of one caller, waiting {_ms(longest)}"
        yield Claim(
            f"Bundles cut the CPU time of the system {at}", LOWER, [self._over("system_cpu_s", busiest, longest)]
        )

    def _over(self, name: str, load: Key, wait: object) -> tuple[Floats, Floats]:
        """The logs without bundles and with those of a wait, the mean over their greatest sizes."""
        pairs = [self._logs(name, load, way) for way in self.ways if way[2] == wait]
        return pairs[0][0], np.mean([after for _, after in pairs], axis=0)


def of_breaker(rounds: pd.DataFrame) -> str:
    """What a client's breaker does to what a limit admits."""
    rounds = rounds.assign(limit=rounds["limit"].astype(str))
    values = {name: by_block(rounds, BREAKER, rounds[name]) for name in ADMITTED}
    limits = sorted(set(rounds["limit"]), key=lambda limit: (limit == "none", _rank(("", limit, ""))))
    cases = [(name, limit) for limit in limits for name in dict.fromkeys(rounds["strategy"])]
    heads = ["limit", "client", "admitted and answered, per s", "change to no breaker"]
    heads += ["rejected by the limit, %", "rejected by the breaker, %"]
    rows = [_breaker_row(values, *case) for case in cases if case in values["items_per_s"]]
    claims = verdicts(_breaker_claims(values["items_per_s"], cases), QUESTION)
    return "\n".join([table(heads, rows), "", claims, "", warned(rounds)])


def _breaker_row(values: dict[str, dict[Key, Floats]], strategy: str, limit: str) -> list[str]:
    admitted = values["items_per_s"]
    change = "–" if strategy == "baseline" else contrast(*_pair(admitted, strategy, limit)).text()
    rates = [f"{np.nanmedian(values[name][strategy, limit]):.1f}" for name in ADMITTED]
    return [limit, "no breaker" if strategy == "baseline" else f"`{strategy}`", rates[0], change, *rates[1:]]


def _pair(admitted: dict[Key, Floats], strategy: str, limit: str) -> tuple[Floats, Floats]:
    return np.log(admitted["baseline", limit]), np.log(admitted[strategy, limit])


def _breaker_claims(admitted: dict[Key, Floats], cases: Sequence[tuple[str, str]]) -> Iterator[Claim]:
    """Whether a breaker hinders a limit: less is admitted than the limit alone would let through."""
    limited = [case for case in cases if case in admitted and case[1] != "none" and case[0] != "baseline"]
    counting = [_pair(admitted, *case) for case in limited if "not-for-429" not in case[0]]
    sparing = [_pair(admitted, *case) for case in limited if "not-for-429" in case[0]]
    for what, pairs in (("counts 429 as failures", counting), ("doesn't count 429", sparing)):
        yield Claim(f"With a breaker that {what}, less is admitted than by the limit alone", LOWER, pairs)
        yield Claim(f"With a breaker that {what}, as much is admitted as by the limit alone", SAME, pairs)


def _span(change: Contrast, digits: int) -> str:
    """A change with its interval, without a unit."""
    ends = f"{change.low:+.{digits}f}, {change.high:+.{digits}f}" if np.isfinite(change.low) else "no interval"
    return f"{change.value:+.{digits}f} [{ends}]"


def _number(level: object) -> str:
    return f"{level:g}" if isinstance(level, (int, float, np.integer, np.floating)) else str(level)


def _ms(wait: object) -> str:
    """A wait in milliseconds; rounds hold it in seconds."""
    return f"{float(str(wait)) * MS_PER_S:g} ms"


def _rank(way: Key) -> tuple[float, float]:
    """Waits, then sizes, in the order of their numbers."""
    _, size, wait = (float(str(level)) if str(level).replace(".", "").isdigit() else 0.0 for level in way)
    return wait, size
