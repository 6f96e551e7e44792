"""What our insurance says of bundle, limit and balancing: verdicts on the paper's claims, failures, and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floors
from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.judged import LEVEL, ClaimedChange
from patternbench.analyze.statements.claims.pairs import ClaimedPairs, claimed_pairs
from patternbench.analyze.statements.family import together as all_together
from patternbench.analyze.statements.verdict import LOWER
from patternbench.terms.quantities import SHARES
from reproductions import claimed, undecided
from reproductions.claimed import HeldClaim, Key, Measured, Named
from reproductions.elmalki_zdun_2023 import equations
from reproductions.elmalki_zdun_2023.combined_models import Fitted, errors_of, fitted, results
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import (
    LEVELS,
    LIMITS,
    NO_LIMIT,
    NONE,
    SIZES,
    by_method,
    method_rows,
)
from reproductions.markdown import table, warned

TIME, FAILURES, ITEMS = "AverageSuccessTime", "failure_rate", "items_per_s"
NAMES: Mapping[Level, str] = {"N": "single requests", "Y": "bundles", 1: "one instance", 2: "two"}
"""What levels are called: of bundles, and of instances."""
_S_PER_HOUR, _MILLION = 3600, 1e6

STUDY, CLAIMS = "insurance-combined", "elmalki_zdun_2023/claims.yaml"
SINGLE: Named = {"request_bundle": "N"}
BUNDLES: Named = {"request_bundle": "Y"}
ONE: Named = {"replicas": 1}
TWO: Named = {"replicas": 2}
OVER = ("limit", "parameters.size", "users")
"""What is averaged over unless a claim says otherwise."""
COLUMNS = {"AverageSuccessTime": "total_time", "derived.cpu_s_per_item": "core_s_per_item"}
"""The columns of rows that hold a response of the study."""
ORDER = ("(a)", "(b)", "(c)", "(d)", "(Table V)", "(e)", "(f)", "(g)", "(h)", "(equation", "(guide)", "(not")
"""How claims begin, in the order in which they stand."""
RESULTS: Mapping[str, Sequence[str]] = {
    "traces": ("term",),
    "errors": ("model", "rows"),
    "times": ("by", "request_bundle", "replicas", "parameters.size"),
    "rejections": ("by", *equations.FACTORS),
}
"""What distinguishes the rows of each table that the page itself makes claims of."""
UNITS = {"total_time": "%", "failure_rate": "points"}
"""In which unit prediction errors of a response are held against the bar."""


@dataclass(frozen=True)
class Told:
    """A change of a claim, the levels that it leads to, and the mean of its response where it starts."""

    at: Levels
    change: ClaimedChange
    start: float


@dataclass(frozen=True)
class Paired:
    """A claim with the rows in which its response is known, and the scenarios that decide it."""

    claim: Claim
    rows: Measured
    pairs: Sequence[ClaimedPairs]

    def told(self, level: float) -> Iterator[Told]:
        """Each change, of scenarios that have every block; where none has, of the blocks that all have."""
        blocks, every = self.rows.rounds.groupby("scenario")["block"].nunique(), self.rows.rounds["block"].nunique()
        whole = {i for i, scenario in enumerate(self.rows.plan) if blocks.get(scenario) == every}
        yield from (told for one in self.pairs for told in self._told(one, whole, level))

    def _told(self, one: ClaimedPairs, whole: set[int], level: float) -> Iterator[Told]:
        ids, levels = list(self.rows.plan), list(self.rows.plan.values())
        kept = [[pair for pair in side if whole.issuperset(pair)] for side in (one.pairs, one.than) if side]
        pairs = [pair for side in kept for pair in side] if all(kept) else [*one.pairs, *one.than]
        part = {ids[i]: levels[i] for pair in pairs for i in pair}
        own = self.rows.rounds[self.rows.rounds["scenario"].isin(part.keys())]
        there = own.groupby("block")["scenario"].transform("nunique") == len(part)
        start = own[own["scenario"].isin([ids[a] for a, _ in one.pairs])][self.claim.response].mean()
        (judged,) = Measured(part, own[there]).judge([self.claim], level)
        yield from (Told(levels[one.pairs[0][1]], change, start) for change in judged.changes)


class Study:
    """The rows of a run by the study's levels, and the calls of each operation or method in each round."""

    def __init__(self, rows: pd.DataFrame, operations: pd.DataFrame) -> None:
        self.rows, self.operations = by_levels(rows), operations
        self.by_method = method_rows(self.rows, by_method(operations))
        counts = rows.groupby("api_users")["rate_limit"].nunique()
        self.users = int(cast(int, counts.idxmax()))
        """The number of users with which every limit was measured."""
        self._known: dict[str, Measured] = {}

    @cached_property
    def models(self) -> dict[int, Fitted]:
        """All models fitted to all rows."""
        return fitted(self.rows, self.by_method)

    @cached_property
    def blocks(self) -> dict[int, dict[int, Fitted]]:
        """All models fitted to each block alone."""
        own = self.by_method
        groups = self.rows.groupby("block")
        return {cast(int, block): fitted(rows, own[own["block"] == block]) for block, rows in groups}

    @cached_property
    def _times(self) -> pd.DataFrame:
        """A row for each method of a round, with its time; unknown where no call of it was good, or none was sent."""
        times = self.by_method[["round", "method", COLUMNS[TIME]]]
        every = self.rows.drop(columns=COLUMNS[TIME]).merge(times[["method"]].drop_duplicates(), how="cross")
        return every.merge(times, on=["round", "method"], how="left")

    @property
    def tells_cpu(self) -> bool:
        """Whether these rounds say what their system took of the processors."""
        return bool(self.rows["core_s_per_item"].notna().any())

    def floor(self, column: str) -> float:
        """Return the noise floor of a column, of the middle scenario against itself, in percent or points."""
        return floors(self.rows, [column])[column].typical

    def hold(self, parts: Sequence[Claim]) -> HeldClaim:
        """Hold the parts of a claim of the study against these rows."""
        own = [self._paired(part) for part in parts]
        each = all_together(LEVEL, sum(len(part.pairs) for part in own))
        told = [one for part in own for one in part.told(each)]
        first = own[0].claim
        falls = first.expected is LOWER and first.response in SHARES
        why = undecided.nothing_fails([one.start for one in told]) if falls else ""
        known = [one for one in told if one.start > 0] if falls and not why else told
        return HeldClaim(first.says, first.expected, tuple(one.change for one in known), why)

    def changes(self, names: Sequence[str], one: Claim) -> dict[Key, ClaimedChange]:
        """Each change with its own interval, by levels."""
        return {tuple(told.at[name] for name in names): told.change for told in self._paired(one).told(LEVEL)}

    def _paired(self, stated: Claim) -> Paired:
        claim = self._own(stated)
        rows = self._scenarios(claim.response)
        return Paired(claim, rows, claimed_pairs(claim, list(rows.plan.values())))

    def _own(self, claim: Claim) -> Claim:
        """Return a claim on the columns of these rows; if it names several limits, on users who met all of them.

        Times are compared method by method: what a limit turns away changes the mix of calls that succeed.
        """
        levels = {level for named in (claim.start, claim.end, claim.where) for level in named.get("limit", ())}
        users: dict[str, tuple[Level, ...]] = {"users": (self.users,)} if len(levels - {NONE}) > 1 else {}
        says = f"{claim.says}, {self.users} users" if users else claim.says
        over = claim.over if "users" in claim.over else (*claim.over, "users")
        over = (*over, "method") if claim.response == TIME else over
        column = COLUMNS.get(claim.response, claim.response)
        return replace(claim, says=says, response=column, over=over, where={**claim.where, **users})

    def _scenarios(self, response: str) -> Measured:
        """Return the rows in which a response is known, with their levels; a ratio of zero is unknown."""
        if response not in self._known:
            timed = response == COLUMNS[TIME]
            rows = claimed.levelled(*((self._times, (*LEVELS, "method")) if timed else (self.rows, LEVELS)))
            values = rows.rounds[response]
            known = values.notna() & ((values > 0) | (response in SHARES))
            self._known[response] = Measured(rows.plan, rows.rounds[known])
        return self._known[response]


def by_levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the study's levels, a limit as requests per minute."""
    limits = [NONE if limit == NO_LIMIT else int(limit) for limit in rows["rate_limit"]]
    replicas = rows["load_balancing"].map({"N": 1, "Y": 2})
    return rows.assign(replicas=replicas, limit=limits, users=rows["api_users"])


def held(study: Study) -> list[HeldClaim]:
    """Hold the claims of the study that these rounds can speak to."""
    parts: dict[str, list[Claim]] = {}
    for one in claimed.claims(STUDY):
        if study.tells_cpu or COLUMNS.get(one.response) != "core_s_per_item":
            parts.setdefault(one.says, []).append(one)
    every = (study.hold(of_it) for of_it in parts.values())
    return [one for one in every if one.changes]


def of_results(study: Study) -> Iterator[HeldClaim]:
    """Yield each claim on models and equations, and on what models predict."""
    made, stated = {**results(study.blocks), **equations.tables(study.rows, study.operations)}, claimed.read(CLAIMS)
    for name, rounds in made.items():
        yield from claimed.levelled(rounds, RESULTS[name]).hold(stated[name])
    for response, unit in UNITS.items():
        errors, floor = errors_of(study.blocks, response), study.floor(response)
        yield from (undecided.predictions(one, errors, floor, unit) for one in stated[response])


def verdict_table(study: Study) -> str:
    """Every claim with its word in the order of the paper's letters, and how far the run can be trusted."""
    every = [*held(study), *of_results(study)]
    every.sort(key=lambda one: next(place for place, start in enumerate(ORDER) if one.says.startswith(start)))
    return "\n".join([claimed.verdict_table(every), "", trust(study)])


def trust(study: Study) -> str:
    """How many rounds carry warnings, how far the middle scenario lies from itself, which rows have no time."""
    untimed = int(study.rows["total_time"].isna().sum())
    cpu = f", that of the CPU time per item {study.floor('core_s_per_item'):.0f} %" if study.tells_cpu else ""
    return (
        f"{warned(study.rows)} The noise floor of the time, of the middle scenario compared with itself, is "
        f"{study.floor('total_time'):.0f} %{cpu}. In {untimed} rounds no call succeeded: they have no time, and count "
        "in all else."
    )


def operations(study: Study) -> str:
    """Return how many requests of each operation a user sent in a round without a limit, by size and arm."""
    if "operation" not in study.operations:
        return (
            "The rounds kept here are of an earlier design: without a bundle a user sent one item per operation, "
            "whatever n, and a round lasted for 6 s, not until n items were done. So they say nothing of n requests "
            "against one bundle. 5 and 25 users waited 250 ms between journeys, and limits were a twentieth, in 3 s."
        )
    unlimited = study.rows[study.rows["rate_limit"] == NO_LIMIT]
    sent = study.operations.merge(unlimited[["round", "request_bundle", "parameters.size", "api_users"]], on="round")
    each = sent.assign(each=sent["calls"] / sent["api_users"])
    counts = each.groupby(["operation", "request_bundle", "parameters.size"])["each"].agg(["min", "max"])
    ends = ((cast(Key, key), low, high) for key, low, high in counts.itertuples())
    texts = {key: f"{low:g}" if low == high else f"{low:g} to {high:g}" for key, low, high in ends}
    arms = [(arm, size) for arm, size in product("NY", SIZES) if any(key[1:] == (arm, size) for key in texts)]
    rows = [[name, *(texts.get((name, *arm), "–") for arm in arms)] for name in dict.fromkeys(key[0] for key in texts)]
    return table(["requests per user", *(f"{NAMES[arm]}, n = {size}" for arm, size in arms)], rows)


def failures(study: Study) -> str:
    """Return the failure rate, of the limit and of all else, next to the items that were served."""
    rows = study.rows[study.rows["api_users"] == study.users]
    heads = ["", "", "limit", "failed calls, %", "of the limit, %", "others, %", "items per second"]
    return table(heads, [_failed(rows, *cell) for cell in product("NY", (1, 2), (NO_LIMIT, 1200.0, 400.0, 100.0))])


def _failed(rows: pd.DataFrame, bundle: str, replicas: int, limit: float) -> list[str]:
    at = {"request_bundle": bundle, "replicas": replicas, "rate_limit": limit}
    own = rows[(rows[list(at)] == pd.Series(at)).all(axis=1)]
    per_round = own.groupby("block")[["failure_rate", "limited_rate", "items_per_s"]].mean()
    rest = per_round["failure_rate"] - per_round["limited_rate"]
    parts = (per_round["failure_rate"], per_round["limited_rate"], rest, per_round["items_per_s"])
    name = "none" if limit == NO_LIMIT else f"{limit:g} per minute"
    return [NAMES[bundle], NAMES[replicas], name, *(f"{part.mean() + 0.0:.1f}" for part in parts)]


def costs(study: Study) -> str:
    """Return what a million items cost without a limit, from CPU seconds."""
    if not study.tells_cpu:
        return "These rounds do not say how much CPU time their system took, so no cost can be given."
    added = study.changes(("request_bundle",), claimed.change("core_s_per_item", ONE, TWO, {"limit": NONE}, OVER))
    heads = ["", "", "CPU seconds per 1,000 items", "US$ per million items", "a second instance changes it by"]
    return table(heads, [_cost(study, *cell, added[cell[0],]) for cell in product("NY", (1, 2))])


def _cost(study: Study, bundle: str, replicas: int, added: ClaimedChange) -> list[str]:
    rows = study.rows[study.rows["rate_limit"] == NO_LIMIT]
    own = rows[(rows["request_bundle"] == bundle) & (rows["replicas"] == replicas)]
    per_item = float(np.exp(np.log(own["core_s_per_item"]).mean()))
    dollars = per_item * _MILLION / _S_PER_HOUR * PRICE_PER_CORE_HOUR
    change = added.text if replicas > 1 else ""
    return [NAMES[bundle], NAMES[replicas], f"{1000 * per_item:.2f}", f"{dollars:.3f}", change]


def of_limit(study: Study) -> str:
    """Return the catalogue's part on rate limits: failures and time with the strictest limit, next to no limit."""
    heads = ["", "", "a limit of 100 per minute changes failed calls by", "and the time of good ones by"]
    none, strictest, users = {"limit": NONE}, {"limit": LIMITS[0]}, {"users": study.users}
    asked = [claimed.change(response, none, strictest, users, OVER[1:]) for response in (FAILURES, TIME)]
    return _changed(study, heads, ("request_bundle", "replicas"), {"": asked})


def of_balancing(study: Study) -> str:
    """Return the catalogue's part on load balancing: what a second instance changes, without a limit and with one."""
    heads = ["", "limit of each instance", "failed calls", "time of good ones", "items per second"]
    return _changed(study, heads, ("request_bundle",), _by_limits(study, ONE, TWO, (FAILURES, TIME, ITEMS)))


def together(study: Study) -> str:
    """Return the catalogue's part on combinations: what bundles change alone, with a limit, balancing, and both."""
    heads = ["instances", "limit of each", "bundles change failed calls by", "and items per second by"]
    return _changed(study, heads, ("replicas",), _by_limits(study, SINGLE, BUNDLES, (FAILURES, ITEMS)))


def _by_limits(study: Study, start: Named, end: Named, responses: Sequence[str]) -> dict[str, list[Claim]]:
    """Return the changes of responses without a limit, and with every limit and the users who met all of them."""
    limits: dict[str, Named] = {
        "none": {"limit": NONE},
        "100 to 1200 per minute": {"limit": LIMITS, "users": study.users},
    }
    return {
        name: [claimed.change(response, start, end, where, OVER) for response in responses]
        for name, where in limits.items()
    }


def _changed(study: Study, heads: Sequence[str], by: Sequence[str], asked: Mapping[str, Sequence[Claim]]) -> str:
    """Return a row for each level of some factors and each group of changes that is asked for."""
    found = {name: [study.changes(by, one) for one in every] for name, every in asked.items()}
    rows = [
        [*(NAMES[level] for level in key), *filter(None, [name]), *(changes[key].text for changes in of_group)]
        for key in sorted(next(iter(found.values()))[0])
        for name, of_group in found.items()
    ]
    return table(heads, rows)
