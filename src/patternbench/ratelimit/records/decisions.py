"""The decisions of load balancers with the rate-limiting filter, and the rules that they enforced."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import pandas as pd
from pydantic import BaseModel, BeforeValidator, Field, PositiveInt

from patternbench.observe.seam import ObservationError, RoundFiles
from patternbench.ratelimit.plan.limit import EnforcedLimit

LOG, RULES = "decisions-", "plan.json.gz"
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
Statement = Annotated[bool, BeforeValidator(bool)]
"""Whether rules have any content."""


class WrittenLimit(EnforcedLimit):
    """A limit of the rules, with whether it says what makes it differ between requests or clients."""

    match: Statement = False
    tiers: Statement = False
    allow: Statement = False
    deny: Statement = False
    shadow: Statement = False

    @property
    def is_one_for_all(self) -> bool:
        """Whether every request is held to the same quantity, and turned away above it."""
        return not (self.match or self.tiers or self.allow or self.deny or self.shadow)


class BalancerRules(BaseModel):
    """The fields of a balancer's rules that are used (contracts/ratelimit/plan.schema.json)."""

    limits: Annotated[list[WrittenLimit], Field(min_length=1)]
    balancers: PositiveInt = 1

    @property
    def judged(self) -> EnforcedLimit | None:
        """The limit that decisions are judged by; none where there are several, or it is not one for all."""
        if len(self.limits) > 1 or not self.limits[0].is_one_for_all:
            return None
        return EnforcedLimit.model_validate(self.limits[0].model_dump())


@dataclass(frozen=True)
class Decisions:
    """One row a decision of any balancer in a round (``client``, ``time_us``, ``allowed``, ``cost``, ``decided_by``,
    ``worker`` of the balancer from 0, ``balancer``), and the one limit of the rules
    (contracts/ratelimit/plan.schema.json) that each balancer enforced, with their number."""

    table: pd.DataFrame
    limit: EnforcedLimit
    balancers: int

    @property
    def without_store(self) -> int:
        """How many were made by the policy for a store that does not answer."""
        return int(self.table["decided_by"].str.startswith(POLICY).sum())

    @property
    def share_without_store(self) -> float:
        """The share of them, 0 to 1; 0 of none."""
        return self.without_store / max(len(self.table), 1)


def read(kept: RoundFiles) -> Decisions | None:
    """Return the decisions of a round; None when no balancer kept any, or there is no one limit to judge them by.

    Raises ObservationError when a file is damaged.
    """
    logs = {balancer: [file for file in files if file.name.startswith(LOG)] for balancer, files in kept.logs.items()}
    parts = [_table(balancer, file) for balancer, files in logs.items() for file in files]
    enforced = [_rules(file) for files in kept.logs.values() for file in files if file.name == RULES]
    if parts and not enforced:
        raise ObservationError(f"{_folder_of(logs)} has decisions without a {RULES}")
    limit = enforced[0].judged if enforced else None
    if limit is None:
        return None
    rows = pd.concat(parts, ignore_index=True) if parts else _nothing()
    return Decisions(rows.astype({"allowed": bool}), limit, enforced[0].balancers)


def _folder_of(logs: Mapping[str, list[Path]]) -> str:
    """Return the folder of the round's logs, from the run's folder on."""
    return "/".join(next(file for files in logs.values() for file in files).parts[-4:-2])


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


def _rules(file: Path) -> BalancerRules:
    return _parsed(file, lambda path: BalancerRules.model_validate(json.loads(gzip.decompress(path.read_bytes()))))


def _parsed(file: Path, parse: Callable[[Path], _Read]) -> _Read:
    """Return the result of a reader for a file. Raises ObservationError, naming the file, if it can't be read."""
    try:
        return parse(file)
    except (ValueError, OverflowError, RecursionError, OSError, EOFError, zlib.error) as error:
        name = "/".join(file.parts[-4:])
        raise ObservationError(f"{name} cannot be read ({str(error).splitlines()[0]})") from None
