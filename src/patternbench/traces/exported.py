"""The tables of a traced round that others may have: a row per span, request, operation, and caller with its callee."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd

from patternbench.traces.analyze.calls import CALLS
from patternbench.traces.analyze.edges import ServiceEdge, edges
from patternbench.traces.records.collected import TracedRound
from patternbench.traces.responses import TIMES

MEANS = ("seconds", *CALLS, *TIMES)


def spans(traced: object) -> pd.DataFrame:
    """Return a row per span (``traces.columns``)."""
    return _round(traced).own.spans


def requests(traced: object) -> pd.DataFrame:
    """Return a row per traced request (``analyze.calls``)."""
    return _round(traced).own.requests


def operations(traced: object) -> pd.DataFrame:
    """Return a row per operation: how many requests of it, then the means of their calls and times."""
    means = {name: (name, "mean") for name in MEANS}
    table = _round(traced).own.requests.astype(dict.fromkeys(MEANS, float))
    return table.groupby("operation", sort=False).agg(requests=("seconds", "size"), **means).reset_index()


def service_calls(traced: object) -> pd.DataFrame:
    """Return a row per caller and callee (``analyze.edges``)."""
    table = pd.DataFrame(edges(_round(traced).own.forest.requests), columns=list(ServiceEdge._fields))
    return table.assign(kind=[kind.value for kind in table["kind"]])


def _round(traced: object) -> TracedRound:
    assert isinstance(traced, TracedRound)
    return traced


TABLES: Mapping[str, Callable[[object], pd.DataFrame]] = MappingProxyType(
    {"spans": spans, "traced_requests": requests, "operations": operations, "service_calls": service_calls}
)
"""The tables by name."""
