"""Leases that all workers of a balancer hold together, next to those that each worker holds, as measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from patternbench.ratelimit.report.tables import COST, DEVIATION, PER_REQUEST
from reproductions.contrasts import LOWER, PERCENT, PLAIN, Claim, Floats, Key, by_block, contrast, verdicts
from reproductions.kalyanasundaram_2025.limit_rounds import measured_with
from reproductions.kalyanasundaram_2025.shop_passes import pair
from reproductions.markdown import table
from reproductions.pages import not_measured

HOLDER, WORKER, BALANCER = "holder", "worker", "balancer"
STUDIES = {"the target": "rate-limiting-leases-quick", "the shop": "rate-limiting-shop-leases"}
WAITED, TOOK, DEVIATED = "asked", COST, DEVIATION
"""Percent of requests that wait for the store (simulated on the recorded requests); ms; percent of requests."""
HEADS = ["on", "algorithm", "lease", "waited for the store, % (simulated)", "latency, ms", "change"]
HEADS += ["deviation, % of requests", "change, points"]


def of_holders(measured: Mapping[str, pd.DataFrame]) -> str:
    """Return what was measured of both holders on each system, and how to measure what was not."""
    held = {name: with_holder(rows) for name, rows in measured.items()}
    compared = [Holders(name, rows) for name, rows in held.items() if set(rows[HOLDER]) >= {WORKER, BALANCER}]
    missing = [study for name, study in STUDIES.items() if name not in {one.name for one in compared}]
    reported = [not_measured(study) for study in missing]
    if compared:
        rows = [row for one in compared for row in one.rows()]
        forms = "\n".join(f"- On {one.name}. {one.form}" for one in compared)
        reported += [forms, table(HEADS, rows), verdicts(claim for one in compared for claim in one.claims())]
    return "\n\n".join(reported)


def with_holder(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds with leases, with who held them."""
    leased = rows[rows["limited"] & (rows["synchronisation"] != PER_REQUEST)]
    return leased.assign(**{HOLDER: leased["also"].str.extract(rf"\b({WORKER}|{BALANCER})\b", expand=False)})


class Holders:
    """Rounds of one system with leases of both holders, compared within blocks; a worker's always comes first."""

    def __init__(self, name: str, rows: pd.DataFrame) -> None:
        self.name, self.form = name, measured_with(rows)
        keys = ["algorithm", "synchronisation", HOLDER]
        self._values = {what: by_block(rows, keys, rows[what].astype(float)) for what in (WAITED, TOOK, DEVIATED)}
        took = self._values[TOOK]
        leases = dict.fromkeys(key[:2] for key in took)
        self._leases = [lease for lease in leases if (*lease, WORKER) in took and (*lease, BALANCER) in took]

    def rows(self) -> Iterator[list[str]]:
        """Yield a row per algorithm and order of leasing."""
        for lease in self._leases:
            took, deviated = contrast(*self._logs(lease), PERCENT), contrast(*self._both(DEVIATED, lease), PLAIN)
            waited, latency = self._medians(WAITED, lease, 0), self._medians(TOOK, lease, 1)
            yield [
                self.name,
                *map(str, lease),
                waited,
                latency,
                took.text(),
                self._medians(DEVIATED, lease, 2),
                deviated.text(),
            ]

    def claims(self) -> Iterator[Claim]:
        """Whether a balancer's lease saves more, and whether it deviates less."""
        saved = [self._logs(lease) for lease in self._leases]
        yield Claim(f"A balancer's lease takes less time than a worker's, on {self.name}", LOWER, saved)
        wrong = [self._both(DEVIATED, lease) for lease in self._leases]
        yield Claim(f"A balancer's lease deviates less than a worker's (points), on {self.name}", LOWER, wrong, PLAIN)

    def _both(self, what: str, lease: Key) -> tuple[Floats, Floats]:
        values = self._values[what]
        return values[(*lease, WORKER)], values[(*lease, BALANCER)]

    def _logs(self, lease: Key) -> tuple[Floats, Floats]:
        worker, balancer = self._both(TOOK, lease)
        return np.log(worker), np.log(balancer)

    def _medians(self, what: str, lease: Key, digits: int) -> str:
        return pair([float(np.nanmedian(values)) for values in self._both(what, lease)], digits)
