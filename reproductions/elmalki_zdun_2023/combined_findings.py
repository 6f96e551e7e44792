"""What our insurance says of bundle, limit and balancing: verdicts on the paper's claims, failures, and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.judged import LEVEL, ClaimedChange
from patternbench.analyze.statements.claims.pairs import claimed_pairs
from patternbench.analyze.statements.verdict import LOWER
from patternbench.terms.quantities import SHARES
from reproductions import claimed
from reproductions.claimed import HeldClaim, Key, Measured, Named
from reproductions.elmalki_zdun_2023 import combined_rounds
from reproductions.elmalki_zdun_2023.combined_models import Fitted, equations, fitted, results
from reproductions.elmalki_zdun_2023.combined_rounds import CPU_PER_ITEM, LEVELS, LIMITS, NO_LIMIT, NONE, TIME
from reproductions.markdown import table, warned

FAILURES, ITEMS = "failure_rate", "items_per_s"
NAMES: Mapping[Level, str] = {"N": "single requests", "Y": "bundles", 1: "one instance", 2: "two"}
"""What levels are called: of bundles, and of instances."""
HOURS, NODES, CORES_OF_A_NODE = 356.67 / 0.10, 4, 2
"""Table II: instances cost 1369.52 US$ while the cluster's own price of 356.67 US$, at 0.10 US$ per hour as listed,
says 3,567 hours: 0.096 US$ per hour for each of four nodes, the list price of a machine of two processors."""
PRICE_PER_CORE_HOUR = round(1369.52 / HOURS / NODES / CORES_OF_A_NODE, 3)
_S_PER_HOUR, _MILLION = 3600, 1e6

STUDY, CLAIMS = "insurance-combined", "elmalki_zdun_2023/claims.yaml"
ONE: Named = {"replicas": 1}
TWO: Named = {"replicas": 2}
OVER = ("limit", "parameters.size", "users")
"""What is averaged over unless a claim says otherwise."""
ORDER = ("(a)", "(b)", "(c)", "(d)", "(Table V)", "(e)", "(f)", "(g)", "(h)", "(equation", "(guide)", "(not")
"""How claims begin, in the order in which they stand."""
NOTHING_FAILS = f"{claimed.CANNOT} no call fails there"
UNITS = {"total_time": "%", "failure_rate": "points"}
"""In which unit prediction errors of a response are held against the bar."""


class Study:
    """The rows of a run by the study's levels, and the calls of each operation or method in each round."""

    def __init__(self, rows: pd.DataFrame, operations: pd.DataFrame) -> None:
        self.rows, self.operations = rows, operations
        self.by_method = combined_rounds.method_rows(rows, combined_rounds.by_method(operations))
        counts = rows.groupby("users")["limit"].nunique()
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
        times = self.by_method[["round", "method", "total_time"]].rename(columns={"total_time": TIME})
        every = self.rows.drop(columns=TIME).merge(times[["method"]].drop_duplicates(), how="cross")
        return every.merge(times, on=["round", "method"], how="left")

    def measured(self, response: str) -> Measured:
        """Return the rows in which a response is known; a ratio of zero is unknown.

        Times are those of each method: what a limit turns away changes the mix of calls that succeed.
        """
        if response not in self._known:
            rows, levels = (self._times, (*LEVELS, "method")) if response == TIME else (self.rows, LEVELS)
            every = claimed.levelled(rows, levels)
            known = rows[response].notna() & ((rows[response] > 0) | (response in SHARES))
            self._known[response] = Measured(every.plan, every.rounds[known])
        return self._known[response]

    def own(self, claim: Claim) -> Claim:
        """Return a claim on these rows; if it names several limits, on the users who met all of them."""
        levels = {level for named in (claim.start, claim.end, claim.where) for level in named.get("limit", ())}
        users: dict[str, tuple[Level, ...]] = {"users": (self.users,)} if len(levels - {NONE}) > 1 else {}
        says = f"{claim.says}, {self.users} users" if users else claim.says
        over = dict.fromkeys((*claim.over, "users", *(["method"] if claim.response == TIME else [])))
        return replace(claim, says=says, over=tuple(over), where={**claim.where, **users})

    def told(self, claim: Claim, level: float) -> Iterator[tuple[Levels, ClaimedChange, float]]:
        """Yield each change, of scenarios that have every block; where none has, of the blocks that all have."""
        rows = self.measured(claim.response)
        ids, levels = list(rows.plan), list(rows.plan.values())
        blocks, every = rows.rounds.groupby("scenario")["block"].nunique(), rows.rounds["block"].nunique()
        whole = {i for i, scenario in enumerate(ids) if blocks.get(scenario) == every}
        for one in claimed_pairs(claim, levels):
            kept = [[pair for pair in side if whole.issuperset(pair)] for side in (one.pairs, one.than) if side]
            pairs = [pair for side in kept for pair in side] if all(kept) else [*one.pairs, *one.than]
            part = {ids[i]: levels[i] for pair in pairs for i in pair}
            own = rows.rounds[rows.rounds["scenario"].isin(part.keys())]
            there = own.groupby("block")["scenario"].transform("nunique") == len(part)
            start = own[own["scenario"].isin([ids[a] for a, _ in one.pairs])][claim.response].mean()
            (judged,) = Measured(part, own[there]).judge([claim], level)
            yield from ((levels[one.pairs[0][1]], change, start) for change in judged.changes)

    def hold(self, parts: Sequence[Claim]) -> HeldClaim:
        """Hold the parts of a claim of the study against these rows."""
        own = [self.own(part) for part in parts]
        first, each = own[0], self.measured(own[0].response).each(own)
        told = [one for part in own for one in self.told(part, each)]
        found = HeldClaim(first.says, first.expected, tuple(change for _, change, _ in told))
        falls = told and first.expected == LOWER and first.response in SHARES
        there = tuple(change for _, change, start in told if start > 0 or not falls)
        return replace(found, changes=there) if there else replace(found, undecided=NOTHING_FAILS if falls else "")

    def changes(self, names: Sequence[str], one: Claim) -> dict[Key, ClaimedChange]:
        """Each change with its own interval, by levels."""
        return {tuple(at[name] for name in names): change for at, change, _ in self.told(self.own(one), LEVEL)}


def held(study: Study) -> list[HeldClaim]:
    """Hold the claims of the study that these rounds can speak to."""
    return [one for one in map(study.hold, claimed.parts_of(claimed.claims(STUDY))) if one.changes]


def of_results(study: Study) -> Iterator[HeldClaim]:
    """Yield each claim on models and equations, and on what models predict."""
    made, stated = {**results(study.blocks), **equations(study.rows, study.operations)}, claimed.read(CLAIMS)
    for name in (one for one in made if one not in UNITS):
        factors = made[name].columns.drop(["block", stated[name][0].response])
        yield from claimed.levelled(made[name], list(factors)).hold(stated[name])
    for response, unit in UNITS.items():
        floor = claimed.noise_floor(study.rows, response)
        yield from (claimed.predictions(one, made[response], floor, unit) for one in stated[response])


def verdict_table(study: Study) -> str:
    """Every claim with its word in the order of the paper's letters, and how far the run can be trusted."""
    every = [*held(study), *of_results(study)]
    every.sort(key=lambda one: next(place for place, start in enumerate(ORDER) if one.says.startswith(start)))
    return f"{claimed.verdict_table(every)}\n\n{trust(study)}"


def trust(study: Study) -> str:
    """How many rounds carry warnings, how far the middle scenario lies from itself, which rows have no time."""
    of_time, of_cpu = (claimed.noise_floor(study.rows, response) for response in ("total_time", CPU_PER_ITEM))
    return (
        f"{warned(study.rows)} The noise floor of the time, of the middle scenario compared with itself, is "
        f"{of_time:.0f} %, that of the CPU time per item {of_cpu:.0f} %. In "
        f"{study.rows['total_time'].isna().sum()} rounds no call succeeded: they have no time, and count in all else."
    )


def operations(study: Study) -> str:
    """Return how many requests of each operation a user sent in a round without a limit, by size and arm."""
    if "operation" not in study.operations:
        return (
            "The rounds kept here are of an earlier design: without a bundle a user sent one item per operation, "
            "whatever n, and a round lasted for 6 s, not until n items were done. So they say nothing of n requests "
            "against one bundle. 5 and 25 users waited 250 ms between journeys, and limits were a twentieth, in 3 s."
        )
    unlimited = study.rows[study.rows["limit"] == NONE]
    sent = study.operations.merge(unlimited[["round", "request_bundle", "parameters.size", "users"]], on="round")
    each = sent.assign(each=sent["calls"] / sent["users"])
    counts = each.groupby(["operation", "request_bundle", "parameters.size"])["each"].agg(["min", "max"])
    texts = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in counts.to_numpy()]
    arms = pd.Series(texts, counts.index).unstack(["request_bundle", "parameters.size"], fill_value="–")
    heads = ["requests per user", *(f"{NAMES[arm]}, n = {size}" for arm, size in arms.columns.to_numpy())]
    return table(heads, arms.itertuples(name=None))


def failures(study: Study) -> str:
    """Return the failure rate, of the limit and of all else, next to the items that were served."""
    own, factors = study.rows[study.rows["users"] == study.users], ["request_bundle", "replicas", "rate_limit"]
    by_block = own.groupby([*factors, "block"])[[FAILURES, "limited_rate", ITEMS]].mean()
    cells = list(product("NY", (1, 2), (NO_LIMIT, 1200.0, 400.0, 100.0)))
    means = by_block.groupby(factors).mean().reindex(cells)
    rows = [
        [NAMES[bundle], NAMES[replicas], "none" if limit == NO_LIMIT else f"{limit:g} per minute"]
        + [f"{round(part, 1) + 0.0:.1f}" for part in (failed, limited, failed - limited, items)]
        for (bundle, replicas, limit), (failed, limited, items) in zip(cells, means.to_numpy(float), strict=True)
    ]
    return table(["", "", "limit", "failed calls, %", "of the limit, %", "others, %", "items per second"], rows)


def costs(study: Study) -> str:
    """Return what a million items cost without a limit, from CPU seconds."""
    unlimited = study.rows[study.rows["limit"] == NONE]
    logs = np.log(unlimited[CPU_PER_ITEM]).groupby([unlimited["request_bundle"], unlimited["replicas"]]).mean()
    added = study.changes(("request_bundle",), claimed.change(CPU_PER_ITEM, ONE, TWO, {"limit": NONE}, OVER))
    rows = []
    for bundle, replicas in product("NY", (1, 2)):
        per_item = float(np.exp(logs[bundle, replicas]))
        dollars = per_item * _MILLION / _S_PER_HOUR * PRICE_PER_CORE_HOUR
        change = added[bundle,].text if replicas > 1 else ""
        rows.append([NAMES[bundle], NAMES[replicas], f"{1000 * per_item:.2f}", f"{dollars:.3f}", change])
    heads = ["", "", "CPU seconds per 1,000 items", "US$ per million items", "a second instance changes it by"]
    return table(heads, rows)


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
    asked = _by_limits(study, {"request_bundle": "N"}, {"request_bundle": "Y"}, (FAILURES, ITEMS))
    return _changed(study, heads, ("replicas",), asked)


def _by_limits(study: Study, start: Named, end: Named, responses: Sequence[str]) -> dict[str, list[Claim]]:
    """Return the changes of responses without a limit, and with every limit and the users who met all of them."""
    limits: dict[str, Named] = {
        "none": {"limit": NONE},
        "100 to 1200 per minute": {"limit": LIMITS, "users": study.users},
    }
    return {name: [claimed.change(one, start, end, where, OVER) for one in responses] for name, where in limits.items()}


def _changed(study: Study, heads: Sequence[str], by: Sequence[str], asked: Mapping[str, Sequence[Claim]]) -> str:
    """Return a row for each level of some factors and each group of changes that is asked for."""
    found = {name: [study.changes(by, one) for one in every] for name, every in asked.items()}
    rows = [
        [*(NAMES[level] for level in key), *filter(None, [name]), *(changes[key].text for changes in of_group)]
        for key in sorted(next(iter(found.values()))[0])
        for name, of_group in found.items()
    ]
    return table(heads, rows)
