"""Traces of a system whose truth is known, as a collector writes them: a shop, its stock with a store, and prices."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

BEGUN_NS = 1_700_000_000_000_000_000
NS_PER_MS = 1_000_000
SERVER, CLIENT = 2, 3
WAY_MS = 0.2


@dataclass(frozen=True)
class Truth:
    """The medians of own times in ms, which share of the requests asks for prices, and how many come per second.

    The store sends no spans.
    """

    shop: float = 5.0
    stock: float = 8.0
    store: float = 3.0
    prices: float = 4.0
    asks_prices: float = 0.5
    rate: float = 20.0
    entry: str = "Shop"


@dataclass
class _Trace:
    """The spans of one request by their services, while it is made."""

    number: int
    spans: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    count: int = 0

    def add(self, service: str, kind: int, times: tuple[float, float], parent: str = "", peer: str = "") -> None:
        begins, over = (str(BEGUN_NS + round(ms * NS_PER_MS)) for ms in times)
        named = [{"key": "peer.service", "value": {"stringValue": peer}}] if peer else []
        span: dict[str, object] = {
            **{"traceId": f"{self.number + 1:032x}", "spanId": self.next_id(), "parentSpanId": parent},
            **{"name": service, "kind": kind, "attributes": named},
            **{"startTimeUnixNano": begins, "endTimeUnixNano": over},
        }
        self.count += 1
        self.spans.setdefault(service, []).append(span)

    def next_id(self) -> str:
        return f"{self.number * 100 + self.count + 1:016x}"

    def line(self) -> str:
        def resource(service: str) -> dict[str, object]:
            return {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}

        parts = [{"resource": resource(name), "scopeSpans": [{"spans": own}]} for name, own in self.spans.items()]
        return json.dumps({"resourceSpans": parts})


def otlp(file: Path, truth: Truth, requests: int, seed: int) -> Path:
    """Write the traces of so many requests into a file, one on each line; returns it."""
    random = np.random.default_rng(seed)
    at, lines = 0.0, []
    for number in range(requests):
        at += float(random.exponential(1000 / truth.rate))
        lines.append(_request(number, at, truth, random).line())
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _own(median: float, random: np.random.Generator) -> float:
    return float(median * np.exp(random.normal(0, 0.3)))


def _request(number: int, at: float, truth: Truth, random: np.random.Generator) -> _Trace:
    """A request: the shop works, calls its stock, and prices for some; the stock works and calls its store."""
    trace, root = _Trace(number), f"{number * 100 + 1:016x}"
    shop, stock, store, prices = (_own(ms, random) for ms in (truth.shop, truth.stock, truth.store, truth.prices))
    asks = random.random() < truth.asks_prices
    begins = at + shop
    store_ms = store + 2 * WAY_MS
    stock_ends = begins + WAY_MS + stock + store_ms + WAY_MS
    ends = stock_ends + (prices + 2 * WAY_MS if asks else 0.0)
    trace.add(truth.entry, SERVER, (at, ends))
    called = trace.next_id()
    trace.add(truth.entry, CLIENT, (begins, stock_ends), root, "Stock")
    handled = trace.next_id()
    trace.add("Stock", SERVER, (begins + WAY_MS, stock_ends - WAY_MS), called)
    trace.add("Stock", CLIENT, (stock_ends - WAY_MS - store_ms, stock_ends - WAY_MS), handled, "store")
    if asks:
        asked = trace.next_id()
        trace.add(truth.entry, CLIENT, (stock_ends, ends), root, "Prices")
        trace.add("Prices", SERVER, (stock_ends + WAY_MS, ends - WAY_MS), asked)
    return trace
