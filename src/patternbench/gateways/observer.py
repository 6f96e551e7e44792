"""The observer of gateways: it asks each Envoy for its statistics before the load and after it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import cast

import httpx
import pandas as pd
from pydantic import RootModel, ValidationError

from patternbench.gateways.statistics import COUNTERS, WITHIN_S, GatewayCounts, counts
from patternbench.lab.envoy import GATEWAY
from patternbench.observe.response import Better, Response
from patternbench.observe.seam import Kept, ObservationError, Observer, Settings, Watched
from patternbench.observe.section import Section

FILE = "gateways.json"
PREFIX = "gateway_"
MEANINGS: Mapping[str, tuple[str, Better, str]] = {
    "requests": ("Requests to gateways", Better.NEITHER, "requests that came to gateways"),
    "limited": ("Limited by gateways", Better.NEITHER, "requests that gateways' own limits answered with 429"),
    "overflows": ("Turned away by breakers", Better.NEITHER, "attempts that gateways' circuit breakers turned away"),
    "timeouts": ("Given up by gateways", Better.LOWER, "attempts and answers that gateways gave up after their time"),
    "connect_failures": ("Failed connections of gateways", Better.LOWER, "connections to hosts that failed"),
    "retries": ("Retries of gateways", Better.NEITHER, "attempts that gateways made again"),
    "ejections": ("Hosts left out", Better.NEITHER, "how often gateways left a host out"),
}
RESPONSES = tuple(
    Response(f"{PREFIX}{name}", title, "count", better, f"{meaning}, in all of the round, warm-up included")
    for name, (title, better, meaning) in MEANINGS.items()
)


class SeenGateways(RootModel[dict[str, GatewayCounts]]):
    """What each gateway of a round counted in it, by the component's name."""


class GatewayObserver(Observer[SeenGateways]):
    """Asks at the moments when the load begins and ends; a gateway stays up between rounds, and counts on."""

    name = "gateways"
    responses = RESPONSES
    tables = MappingProxyType({"gateways": lambda seen: table(cast(SeenGateways, seen))})

    @contextmanager
    def watch(self, watched: Watched) -> Iterator[None]:
        """Keep the difference between the statistics after the load and before it."""
        # They answer plainly, on this machine: to read a list of authorities would take 18 ms of every round.
        with httpx.Client(timeout=WITHIN_S, trust_env=False, verify=False) as http:
            before = _asked(watched.endpoints, http)
            yield
            seen = {name: now.since(before[name]) for name, now in _asked(watched.endpoints, http).items()}
        if seen:
            watched.folder.mkdir(parents=True)
            (watched.folder / FILE).write_text(SeenGateways(seen).model_dump_json(indent=1), encoding="utf-8")

    def read(self, kept: Kept) -> SeenGateways | None:
        """What gateways counted in a round; None in a system without any."""
        file = kept.folder / FILE
        if not kept.folder.is_dir():
            return None
        try:
            return SeenGateways.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            raise ObservationError(f"{file.parent.name}/{file.name} cannot be read") from None

    def measured(self, seen: SeenGateways, settings: Settings) -> dict[str, float]:
        """The sums over all gateways."""
        gateways = seen.root.values()
        return {f"{PREFIX}{name}": float(sum(getattr(one, name) for one in gateways)) for name in COUNTERS}

    def sections(self, run: Path, rounds: pd.DataFrame) -> Sequence[Section]:
        """The section on gateways."""
        chapter = importlib.import_module("patternbench.gateways.report.chapter")
        made: Sequence[Section] = chapter.sections(run, rounds)
        return made


def table(seen: SeenGateways) -> pd.DataFrame:
    """One row per gateway and count; the attempts that a host got are counted as ``to HOST``."""
    rows = [(name, what, count) for name, one in seen.root.items() for what, count in _rows(one)]
    return pd.DataFrame(rows, columns=["gateway", "count", "value"])


def _rows(counted: GatewayCounts) -> Iterator[tuple[str, int]]:
    yield from ((name, getattr(counted, name)) for name in COUNTERS)
    yield from ((f"to {host}", count) for host, count in counted.hosts.items())


def _asked(endpoints: Mapping[str, str], http: httpx.Client) -> dict[str, GatewayCounts]:
    """What each gateway has counted so far; raises ObservationError where one does not say."""
    admins = {name.removesuffix(f".{GATEWAY}"): url for name, url in endpoints.items() if name.endswith(f".{GATEWAY}")}
    urls = {name: url for name, url in endpoints.items() if name != "system" and "." not in name}
    try:
        return {name: counts(admin, urls, http) for name, admin in admins.items()}
    except (httpx.HTTPError, ValueError) as error:
        raise ObservationError(f"a gateway does not say what it counted: {error or type(error).__name__}") from None


OBSERVER = GatewayObserver()
