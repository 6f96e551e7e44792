"""What our insurance says of bundle, limit and balancing: verdicts on the paper's claims, failures, and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floor_of
from patternbench.analyze.statements import family
from patternbench.analyze.statements.claims.claim import Claim as StudyClaim
from patternbench.analyze.statements.claims.claim import Levels
from patternbench.analyze.statements.claims.judged import LEVEL, judge_claims
from patternbench.analyze.statements.claims.pairs import claimed_pairs
from patternbench.terms.quantities import SHARES
from reproductions import claimed, contrasts
from reproductions.claimed import HeldClaim, Named, Plan
from reproductions.contrasts import HIGHER, LOWER, PLAIN, Claim, Contrast, Floats, Key
from reproductions.elmalki_zdun_2023.combined_models import Fitted, fitted
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import LEVELS, LIMITS, NO_LIMIT, NONE, SIZES
from reproductions.markdown import table, warned

TIME, FAILURES, ITEMS = "AverageSuccessTime", "failure_rate", "items_per_s"
Pair = tuple[Floats, Floats]
#: The greatest prediction error that the paper accepts, percent.
TARGET = 30.0
WAYS = tuple(product("NY", "NY"))
NAMES = {"N": "single requests", "Y": "bundles"}
INSTANCES = {"N": "one instance", "Y": "two"}
_S_PER_HOUR, _MILLION = 3600, 1e6


STUDY = "insurance-combined"
SINGLE: Named = {"request_bundle": "N", "parameters.size": SIZES[0]}
BUNDLES: Named = {"request_bundle": "Y", "parameters.size": SIZES}
ONE: Named = {"replicas": 1}
TWO: Named = {"replicas": 2}
OVER = ("limit", "parameters.size", "users")
"""What is averaged over unless a claim says otherwise."""
COLUMNS = {"AverageSuccessTime": "total_time", "derived.cpu_s_per_item": "core_s_per_item"}
"""The columns of rows that hold a response of the study."""


class Study:
    """The rows of a run, also by the study's levels."""

    def __init__(self, rows: pd.DataFrame, by_method: pd.DataFrame) -> None:
        self.rows, self.by_method = rows, by_method
        counts = rows.groupby("api_users")["rate_limit"].nunique()
        self.users = int(cast(int, counts.idxmax()))
        """The number of users with which every limit was measured."""

    @cached_property
    def models(self) -> dict[int, Fitted]:
        """All models fitted to all rows."""
        return fitted(self.rows, self.by_method)

    @cached_property
    def blocks(self) -> list[dict[int, Fitted]]:
        """All models fitted to each block alone."""
        own = self.by_method
        return [fitted(rows, own[own["block"] == block]) for block, rows in self.rows.groupby("block")]

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

    def limited(self) -> Named:
        """Every limit that was measured, with the users who were measured with all of them."""
        return {"limit": LIMITS, "users": self.users}

    def hold(self, parts: Sequence[StudyClaim]) -> HeldClaim:
        """Hold the parts of a claim of the study against these rows."""
        own = [self._own(part) for part in parts]
        each = family.together(LEVEL, sum(1 for part in own for _ in self._told(part, LEVEL)))
        told = [one for part in own for one in self._told(part, each)]
        return HeldClaim(own[0].says, own[0].expected, tuple(change for _, change in told), tuple(at for at, _ in told))

    def changes(self, names: Sequence[str], one: StudyClaim) -> dict[Key, Contrast]:
        """Each change with its own interval, by levels."""
        return {tuple(at[name] for name in names): change for at, change in self._told(self._own(one), LEVEL)}

    def _told(self, claim: StudyClaim, level: float) -> Iterator[tuple[Levels, Contrast]]:
        """Each change of a claim after the levels that it leads to.

        It is that of the scenarios that have every block; where none has, that of the blocks that all of them have.
        """
        plan, rows = self._scenarios(claim.response)
        ids, levels = list(plan), list(plan.values())
        blocks = rows.groupby("scenario")["block"].nunique()
        whole = {i for i, scenario in enumerate(ids) if blocks.get(scenario) == rows["block"].nunique()}
        for one in claimed_pairs(claim, levels):
            kept = [[pair for pair in side if whole.issuperset(pair)] for side in (one.pairs, one.than) if side]
            pairs = [pair for side in kept for pair in side] if all(kept) else [*one.pairs, *one.than]
            part = {ids[i]: levels[i] for pair in pairs for i in pair}
            own = rows[rows["scenario"].isin(part.keys())]
            there = own.groupby("block")["scenario"].transform("nunique") == len(part)
            (judged,) = judge_claims([claim], part, own[there], {}, level).claims
            yield from ((levels[one.pairs[0][1]], change) for change in claimed.contrasts_of(judged))

    def _own(self, claim: StudyClaim) -> StudyClaim:
        """Return a claim on the columns of these rows; if it names several limits, on users who met all of them.

        Times are compared method by method: what a limit turns away changes the mix of calls that succeed.
        """
        levels = {level for named in (claim.start, claim.end, claim.where) for level in named.get("limit", ())}
        users = {"users": (self.users,)} if len(levels - {NONE}) > 1 else {}
        over = (*claim.over, "method") if claim.response == TIME else claim.over
        column = COLUMNS.get(claim.response, claim.response)
        return replace(claim, response=column, over=over, where={**claim.where, **users})

    def _scenarios(self, response: str) -> tuple[Plan, pd.DataFrame]:
        """Return the scenarios, and the rows in which a response is known; a ratio of zero is unknown."""
        table, factors = (self._times, (*LEVELS, "method")) if response == COLUMNS[TIME] else (self.rows, LEVELS)
        plan, named = claimed.levelled(by_levels(table), factors)
        return plan, named[named[response].notna() & ((named[response] > 0) | (response in SHARES))]


def by_levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the study's levels, a limit as requests per minute."""
    bundled = rows["request_bundle"] == "Y"
    limits = [NONE if limit == NO_LIMIT else int(limit) for limit in rows["rate_limit"]]
    size = {"parameters.size": rows["bundle_size"].where(bundled, SIZES[0])}
    replicas = rows["load_balancing"].map({"N": 1, "Y": 2})
    return rows.assign(replicas=replicas, limit=limits, users=rows["api_users"], **size)


def held(study: Study) -> list[HeldClaim]:
    """Hold the claims of the study that these rounds can speak to."""
    parts: dict[str, list[StudyClaim]] = {}
    for one in claimed.claims(STUDY):
        if study.tells_cpu or COLUMNS.get(one.response) != "core_s_per_item":
            parts.setdefault(one.says, []).append(one)
    return [study.hold(of_it) for of_it in parts.values()]


def claims(study: Study) -> Iterator[list[str]]:
    """Yield a row for each of claims (a) to (h) and the guide: those of the study, and those on models."""
    every = held(study)
    lettered = [one for one in every if not one.says.startswith(("(guide)", "(not"))]
    yield from (one.row for one in lettered)
    for claim in (*_of_predictors(study), *_of_guide(study.blocks)):
        yield contrasts.held(claim.text, claim.says, contrasts.contrasts(claim))
    yield from (one.row for one in every if one not in lettered)


def _of_predictors(study: Study) -> Iterator[Claim]:
    blocks = study.blocks
    traces = {term: np.array([models[1].pillai.get(term, np.nan) for models in blocks]) for term in blocks[0][1].pillai}
    strongest = [(trace, traces["request_bundle"]) for term, trace in traces.items() if term != "request_bundle"]
    yield Claim("(g) The bundle is the strongest predictor (Pillai's trace, model 1)", HIGHER, strongest, PLAIN)
    weakest = [(trace, traces["load_balancing"]) for term, trace in traces.items() if term != "load_balancing"]
    yield Claim("(g) Balancing is the weakest", LOWER, weakest, PLAIN)
    for response, error in (("total_time", "mape"), ("failure_rate", "mae")):
        name = "MAPE of the time" if response == "total_time" else "MAE of the failure rate"
        yield Claim(f"(h) All five models predict within 30 ({name})", LOWER, _within(blocks, response, error))


def _within(blocks: list[dict[int, Fitted]], response: str, error: str) -> list[Pair]:
    """Return the target against each model's errors in each block, as logs."""
    errors = [[getattr(models[n].models[response].errors, error) or np.nan for models in blocks] for n in blocks[0]]
    return [(np.full(len(blocks), np.log(TARGET)), np.log(values)) for values in errors]


def _of_guide(blocks: list[dict[int, Fitted]]) -> Iterator[Claim]:
    both: dict[str, tuple[object, ...]] = {"request_bundle": ("Y",), "load_balancing": ("Y",)}
    yield Claim("(guide) Bundle and balancing: model 2 predicts the time best", LOWER, _better(blocks, 2, both))
    both = {"rate_limit": LIMITS, "load_balancing": ("Y",)}
    yield Claim("(guide) Limit and balancing: model 3 predicts the time best", LOWER, _better(blocks, 3, both))


def _better(blocks: list[dict[int, Fitted]], number: int, levels: Mapping[str, tuple[object, ...]]) -> list[Pair]:
    """Each other model's errors against one model's, on the rows with these levels, as logs by block."""
    errors = {n: np.log([_error(models[n], levels) for models in blocks]) for n in blocks[0]}
    return [(errors[n], errors[number]) for n in errors if n != number]


def _error(model: Fitted, levels: Mapping[str, tuple[object, ...]]) -> float:
    """Return the mean absolute percentage error of a model's time on rows with these levels, some known to it."""
    fit = model.models["total_time"].fit
    rows = model.tables["total_time"].iloc[fit.design.rows]
    chosen = np.logical_and.reduce([rows[name].isin(values).to_numpy() for name, values in levels.items()])
    return float(100 * np.mean(np.abs(fit.residuals[chosen] / fit.y[chosen])))


def verdict_table(study: Study) -> str:
    """Every claim with its word, and how far the run can be trusted."""
    return "\n".join([table(contrasts.heads("claim of the paper"), claims(study)), "", trust(study)])


def trust(study: Study) -> str:
    """How many rounds carry warnings, how far the middle scenario lies from itself, which rows have no time."""
    rows = study.rows
    floor = floor_of("total_time", [group["total_time"].dropna().to_numpy() for _, group in rows.groupby("scenario")])
    untimed = int(rows["total_time"].isna().sum())
    return (
        f"{warned(rows)} The noise floor of the time, of the middle scenario compared with itself, is "
        f"{floor.typical:.0f} %. In {untimed} rounds no call succeeded: they have no time, and count in all else."
    )


def failures(study: Study) -> str:
    """Return the failure rate, of the limit and of all else, next to the items that were served."""
    rows = study.rows[study.rows["api_users"] == study.users]
    heads = ["", "", "limit", "failed calls, %", "of the limit, %", "others, %", "items per second"]
    return table(heads, [_failed(rows, *cell) for cell in product("NY", "NY", (NO_LIMIT, 1200.0, 400.0, 100.0))])


def _failed(rows: pd.DataFrame, bundle: str, balancing: str, limit: float) -> list[str]:
    at = {"request_bundle": bundle, "load_balancing": balancing, "rate_limit": limit}
    own = rows[(rows[list(at)] == pd.Series(at)).all(axis=1)]
    per_round = own.groupby("block")[["failure_rate", "limited_rate", "items_per_s"]].mean()
    rest = per_round["failure_rate"] - per_round["limited_rate"]
    parts = (per_round["failure_rate"], per_round["limited_rate"], rest, per_round["items_per_s"])
    name = "none" if limit == NO_LIMIT else f"{limit:g} per minute"
    return [NAMES[bundle], INSTANCES[balancing], name, *(f"{part.mean() + 0.0:.1f}" for part in parts)]


def costs(study: Study) -> str:
    """Return what a million items cost without a limit, from CPU seconds."""
    if not study.tells_cpu:
        return "These rounds do not say how much CPU time their system took, so no cost can be given."
    added = study.changes(("request_bundle",), claimed.change("core_s_per_item", ONE, TWO, {"limit": NONE}, OVER))
    heads = ["", "", "CPU seconds per 1,000 items", "US$ per million items", "a second instance changes it by"]
    rows = [_cost(study, bundle, balancing, added[bundle,]) for bundle, balancing in WAYS]
    return table(heads, rows)


def _cost(study: Study, bundle: str, balancing: str, added: Contrast) -> list[str]:
    rows = study.rows[study.rows["rate_limit"] == NO_LIMIT]
    own = rows[(rows["request_bundle"] == bundle) & (rows["load_balancing"] == balancing)]
    per_item = float(np.exp(np.log(own["core_s_per_item"]).mean()))
    dollars = per_item * _MILLION / _S_PER_HOUR * PRICE_PER_CORE_HOUR
    change = added.text() if balancing == "Y" else ""
    return [NAMES[bundle], INSTANCES[balancing], f"{1000 * per_item:.2f}", f"{dollars:.3f}", change]


def of_limit(study: Study) -> str:
    """Return the catalogue's part on rate limits: failures and time with the strictest limit, next to no limit."""
    none, strictest = {"limit": NONE}, {"limit": LIMITS[0]}
    ways = ("request_bundle", "replicas")
    failed, time = (
        study.changes(ways, claimed.change(response, none, strictest, {"users": study.users}, OVER[1:]))
        for response in (FAILURES, TIME)
    )
    rows = [
        [NAMES[bundle], INSTANCES[balancing], failed[way].text(), time[way].text()]
        for bundle, balancing in WAYS
        for way in [(bundle, 1 + "NY".index(balancing))]
    ]
    heads = ["", "", "a limit of 100 per minute changes failed calls by", "and the time of good ones by"]
    return table(heads, rows)


def of_balancing(study: Study) -> str:
    """Return the catalogue's part on load balancing: what a second instance changes, without a limit and with one."""
    changes = _under_limits(study, ("request_bundle",), (ONE, TWO), (FAILURES, TIME, ITEMS))
    rows = [[NAMES[bundle], name, *changes[name][bundle]] for bundle, name in product("NY", changes)]
    return table(["", "limit of each instance", "failed calls", "time of good ones", "items per second"], rows)


def together(study: Study) -> str:
    """Return the catalogue's part on combinations: what bundles change alone, with a limit, balancing, and both."""
    changes = _under_limits(study, ("replicas",), (SINGLE, BUNDLES), (FAILURES, ITEMS))
    rows = [
        [INSTANCES[balancing], name, *changes[name][number]]
        for number, balancing in enumerate("NY", start=1)
        for name in changes
    ]
    heads = ["instances", "limit of each", "bundles change failed calls by", "and items per second by"]
    return table(heads, rows)


def _under_limits(
    study: Study, by: Sequence[str], sides: tuple[Named, Named], responses: Sequence[str]
) -> dict[str, dict[object, list[str]]]:
    """Return what a step changes in some responses, without a limit and with one, by a level."""
    found: dict[str, dict[object, list[str]]] = {}
    groups: dict[str, Named] = {"none": {"limit": NONE}, "100 to 1200 per minute": study.limited()}
    for name, where in groups.items():
        changes = [study.changes(by, claimed.change(response, *sides, where, OVER)) for response in responses]
        found[name] = {key[0]: [of_it[key].text() for of_it in changes] for key in changes[0]}
    return found
