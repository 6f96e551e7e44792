"""The decisions of load balancers with the rate-limiting filter, and the plan that they enforced."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
from pydantic import BaseModel, Field, PositiveInt

from patternbench.records import component_logs
from patternbench.records.folder import RunFolder
from patternbench.study.units import PositiveDuration

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

_Read = TypeVar("_Read")


class Unreadable(Exception):  # noqa: N818 - a state of the records, named as one
    """A file of a round is no log of decisions, or no plan of a balancer: which, and why."""


class _Lease(BaseModel):
    mode: str
    share: float
    expires: PositiveDuration


class _Limit(BaseModel):
    algorithm: str
    limit: PositiveInt
    window: PositiveDuration
    store: str
    burst: PositiveInt | None = None
    sub_windows: PositiveInt | None = None
    lease: _Lease | None = None


class _Plan(BaseModel):
    """What is relied on of a balancer's plan (contracts/ratelimit/plan.schema.json)."""

    limits: Annotated[list[_Limit], Field(min_length=1)]
    balancers: PositiveInt = 1


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
    """The decisions of a round; None when no balancer kept any. Raises Unreadable when a file is damaged."""
    kept = component_logs.kept_of(run, round_name)
    parts = [_table(name, file) for name, files in kept.items() for file in files if file.name.startswith("decisions-")]
    plans = [_plan(file) for files in kept.values() for file in files if file.name == PLAN]
    if parts and not plans:
        raise Unreadable(f"{run.component_logs_of(round_name).relative_to(run.path)} has decisions without a {PLAN}")
    if not plans:
        return None
    rows = pd.concat(parts, ignore_index=True) if parts else _nothing()
    return Decisions(rows.astype({"allowed": bool}), plans[0]["limits"][0], plans[0].get("balancers", 1))


def damage(run: RunFolder, round_name: str) -> str:
    """What is wrong with the decisions of a round; empty when nothing is."""
    try:
        read(run, round_name)
    except Unreadable as error:
        return str(error)
    return ""


def _table(balancer: str, file: Path) -> pd.DataFrame:
    return _parsed(file, _rows).assign(balancer=balancer)


def _rows(file: Path) -> pd.DataFrame:
    rows = pd.read_csv(file, sep="\t", usecols=list(_KINDS), dtype=_KINDS, keep_default_na=False, quoting=3)
    whole = rows["allowed"].isin((0, 1)) & (rows["decided_by"] != "") & rows.notna().all(axis=1)
    if not whole.all():
        raise ValueError("a line is not whole")
    return rows


def _nothing() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _KINDS.items()} | {"balancer": []})


def _plan(file: Path) -> dict[str, Any]:
    return _parsed(file, _checked_plan)


def _checked_plan(file: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    _Plan.model_validate(plan)
    return plan


def _parsed(file: Path, parse: Callable[[Path], _Read]) -> _Read:
    """What a reader makes of a file; raises Unreadable, naming the file, when it makes nothing of it."""
    try:
        return parse(file)
    except (ValueError, OverflowError, RecursionError, OSError, EOFError, zlib.error) as error:
        place = "/".join(file.parts[-4:])
        raise Unreadable(f"{place} cannot be read ({str(error).splitlines()[0]})") from None
