"""The observer of bundlers: it asks each for its counts before the load and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import cast

import httpx
import pandas as pd
from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from patternbench.lab.bundles import STATUS
from patternbench.observe.doubt import Doubt
from patternbench.observe.response import Better, Response
from patternbench.observe.seam import Kept, ObservationError, Observer, Settings, Watched

FILE = "bundlers.json"
WITHIN_S = 5.0
ALL = "in all of the round, warm-up included"
RESPONSES = (
    Response("bundler_requests", "Requests to bundlers", "count", Better.NEITHER, f"requests that are bundled, {ALL}"),
    Response("bundler_calls", "Calls of bundlers", "count", Better.NEITHER, f"calls that these requests cost, {ALL}"),
    Response(
        "bundler_saved", "Calls saved", "percent", Better.HIGHER, f"requests that cost no call of their own, {ALL}"
    ),
    Response("bundler_size", "Requests per bundle", "count", Better.NEITHER, f"mean of bundles of several, {ALL}"),
    Response(
        "bundler_overflows",
        "Turned away by bundlers",
        "count",
        Better.NEITHER,
        f"requests that went on alone, as too many waited, {ALL}",
    ),
    Response("bundler_faults", "Faults of bundlers", "count", Better.LOWER, f"errors of the filter itself, {ALL}"),
)


class BundlerCounts(BaseModel):
    """What a bundler counted, as its page of counts says it; that page says more."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    requests: int
    calls: int
    bundles: int
    bundled: int
    overflows: int
    faults: int

    def since(self, before: BundlerCounts) -> BundlerCounts:
        """What was counted since then; a bundler that was started in between began at 0."""
        if self.requests < before.requests:
            return self
        return BundlerCounts(**{name: getattr(self, name) - getattr(before, name) for name in COUNTS})


COUNTS = tuple(BundlerCounts.model_fields)


class SeenBundlers(RootModel[dict[str, BundlerCounts]]):
    """What each bundler of a round counted in it, by the component's name."""


class BundlerObserver(Observer[SeenBundlers]):
    """Asks at the moments when the load begins and ends; a bundler stays up between rounds, and counts on."""

    name = "bundlers"
    responses = RESPONSES
    tables = MappingProxyType({"bundlers": lambda seen: table(cast(SeenBundlers, seen))})

    @contextmanager
    def watch(self, watched: Watched) -> Iterator[None]:
        """Keep the difference between the counts after the load and before it."""
        # They answer plainly, on this machine: to read a list of authorities would take 18 ms of every round.
        with httpx.Client(timeout=WITHIN_S, trust_env=False, verify=False) as http:
            before = _asked(watched.endpoints, http)
            yield
            seen = {name: now.since(before[name]) for name, now in _asked(watched.endpoints, http).items()}
        if seen:
            watched.folder.mkdir(parents=True)
            (watched.folder / FILE).write_text(SeenBundlers(seen).model_dump_json(indent=1), encoding="utf-8")

    def read(self, kept: Kept) -> SeenBundlers | None:
        """What bundlers counted in a round; None in a system without any."""
        file = kept.folder / FILE
        if not kept.folder.is_dir():
            return None
        try:
            return SeenBundlers.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            raise ObservationError(f"{file.parent.name}/{file.name} cannot be read") from None

    def doubts(self, seen: SeenBundlers) -> list[Doubt]:
        """Whether the filter failed, and requests went on alone that should not have."""
        faults = sum(one.faults for one in seen.root.values())
        text = f"the bundling filter failed {faults} times, and let these requests go on alone"
        return [Doubt("bundler_faults", text, "read the bundler's error.log")] if faults else []

    def measured(self, seen: SeenBundlers, settings: Settings) -> dict[str, float]:
        """The sums over all bundlers, and what they come to."""
        total = {name: float(sum(getattr(one, name) for one in seen.root.values())) for name in COUNTS}
        saved = 100 * _over(total["requests"] - total["calls"], total["requests"])
        size = _over(total["bundled"], total["bundles"])
        sums = {f"bundler_{name}": total[name] for name in ("requests", "calls", "overflows", "faults")}
        return sums | {"bundler_saved": saved, "bundler_size": size}


def _over(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def table(seen: SeenBundlers) -> pd.DataFrame:
    """One row per bundler and count."""
    rows = [(name, what, getattr(one, what)) for name, one in seen.root.items() for what in COUNTS]
    return pd.DataFrame(rows, columns=["bundler", "count", "value"])


def _asked(endpoints: Mapping[str, str], http: httpx.Client) -> dict[str, BundlerCounts]:
    """What each bundler has counted so far; raises ObservationError where one does not say."""
    pages = {name.removesuffix(f".{STATUS}"): url for name, url in endpoints.items() if name.endswith(f".{STATUS}")}
    try:
        return {name: _counts(f"{url}/status", http) for name, url in pages.items()}
    except (httpx.HTTPError, ValidationError) as error:
        raise ObservationError(f"a bundler does not say what it counted: {type(error).__name__}") from None


def _counts(url: str, http: httpx.Client) -> BundlerCounts:
    return BundlerCounts.model_validate_json(http.get(url).raise_for_status().content)


OBSERVER = BundlerObserver()
