"""The observer of bundlers: it reads each one's counts before and after the load."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Self, cast

import httpx
import pandas as pd
from pydantic import ConfigDict, RootModel

from patternbench.bundlers.responses import RESPONSES
from patternbench.lab.announced import STATUS
from patternbench.observe.counting import ComponentCounts, CountingObserver
from patternbench.observe.seam import Settings
from patternbench.observe.warning import RoundWarning
from patternbench.terms.data_problems import plural

US_PER_S = 1_000_000


class BundlerCounts(ComponentCounts):
    """What a bundler counted, as its page of counts says it; that page says more.

    Rounds of before do not say how many bundles were ``full``, and how long requests waited all together (in us).
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    requests: int
    calls: int
    bundles: int
    bundled: int
    overflows: int
    faults: int
    full: int | None = None
    waited_us: int | None = None

    def since(self, before: Self) -> Self:
        """Return what was counted since then; a bundler that was started in between began at 0."""
        if self.requests < before.requests:
            return self
        return self.model_validate({name: _less(getattr(self, name), getattr(before, name)) for name in COUNTS})


COUNTS = tuple(BundlerCounts.model_fields)


class SeenBundlers(RootModel[dict[str, BundlerCounts]]):
    """What each bundler of a round counted in it, by the component's name."""


class BundlerObserver(CountingObserver[BundlerCounts]):
    """What bundlers did in a round."""

    name = "bundlers"
    endpoint = STATUS
    seen = SeenBundlers
    responses = RESPONSES
    tables = MappingProxyType({"bundlers": lambda seen: table(cast(SeenBundlers, seen))})

    def counts(self, url: str, endpoints: Mapping[str, str], http: httpx.Client) -> BundlerCounts:
        """Return what a bundler has counted so far, by its page of counts."""
        return BundlerCounts.model_validate_json(http.get(f"{url}/status").raise_for_status().content)

    def warnings(self, seen: RootModel[dict[str, BundlerCounts]]) -> list[RoundWarning]:
        """Whether the filter failed, and requests continued alone that should not have."""
        faults = sum(one.faults for one in seen.root.values())
        text = f"the bundling filter failed {plural(faults, 'time')}, and let these requests go on alone"
        return [RoundWarning("bundler_faults", text, "read the bundler's error.log")] if faults else []

    def measured(self, seen: RootModel[dict[str, BundlerCounts]], settings: Settings) -> dict[str, float]:
        """Return the sums over all bundlers, and what they come to."""
        total = {name: _sum(getattr(one, name) for one in seen.root.values()) for name in COUNTS}
        saved = 100 * _over(total["requests"] - total["calls"], total["requests"])
        size = _over(total["bundled"], total["bundles"])
        sums = {f"bundler_{name}": total[name] for name in ("requests", "calls", "overflows", "faults")}
        full = 100 * _over(total["full"], total["bundles"])
        wait = _over(total["waited_us"], total["requests"]) / US_PER_S
        return sums | {"bundler_saved": saved, "bundler_size": size, "bundler_full": full, "bundler_wait": wait}


def _less(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before


def _sum(counts: Iterable[int | None]) -> float:
    """Return the sum of counts; NaN where one is not known."""
    return float(sum(math.nan if count is None else count for count in counts))


def _over(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def table(seen: SeenBundlers) -> pd.DataFrame:
    """One row per bundler and count that is known."""
    rows = [(name, what, count) for name, one in seen.root.items() for what, count in one if count is not None]
    return pd.DataFrame(rows, columns=["bundler", "count", "value"])


OBSERVER = BundlerObserver()
