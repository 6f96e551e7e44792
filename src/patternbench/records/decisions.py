"""The decisions of load balancers with the rate-limiting filter, and the plan that they enforced."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from patternbench.records import component_logs
from patternbench.records.folder import RunFolder

PLAN = "plan.json.gz"
POLICY = "policy_"
_KINDS = {
    "time_us": "int64",
    "worker": "int64",
    "client": "string",
    "allowed": "int64",
    "cost": "int64",
    "decided_by": "string",
}


@dataclass(frozen=True)
class Decisions:
    """One row a decision of any balancer in a round (`client`, `time_us`, `allowed`, `cost`, `decided_by`,
    `worker` of the balancer from 0, `balancer`), and the one limit of the plan (contracts/ratelimit/plan.schema.json)
    that each of so many balancers enforced."""

    table: pd.DataFrame
    limit: dict[str, Any]
    balancers: int

    @property
    def without_store(self) -> int:
        """How many were made by the policy for a store that does not answer."""
        return int(self.table["decided_by"].str.startswith(POLICY).sum())


def read(run: RunFolder, round_name: str) -> Decisions | None:
    """The decisions of a round; None when no balancer kept any."""
    kept = component_logs.kept_of(run, round_name)
    parts = [_table(name, file) for name, files in kept.items() for file in files if file.name.startswith("decisions-")]
    plans = [_plan(file) for files in kept.values() for file in files if file.name == PLAN]
    if not plans:
        return None
    rows = pd.concat(parts, ignore_index=True) if parts else _nothing()
    return Decisions(rows.astype({"allowed": bool}), plans[0]["limits"][0], plans[0].get("balancers", 1))


def _table(balancer: str, file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, sep="\t", usecols=list(_KINDS), dtype=_KINDS, keep_default_na=False, quoting=3)
    return rows.assign(balancer=balancer)


def _nothing() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _KINDS.items()} | {"balancer": []})


def _plan(file: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return plan
