"""What the paper left open, asked of the shop: load shedding, more balancers, stress, what counts, bundled reads.

Each study is a comparison. Most compare what groups of users get, which no response of a round tells: a column such as
`shoppers.good_per_s` is that of one group, from the round's attempts. Claims on these columns are here; others are in
the studies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from patternbench.analyze.metrics import ended_journeys
from patternbench.ratelimit.analyze.cost import REJECTED
from patternbench.records import attempts, journal
from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table
from patternbench.study.claims import DeclaredClaim
from reproductions.comparisons import Comparison, Shown, part
from reproductions.pages import QUICK, Reader, Tables, not_measured, rounds_as

SHED, US_PER_MS, US_PER_S, MS_PER_S, ALL = 503, 1e3, 1e6, 1e3, 100.0
UNLIMITED, LOG = "no_limiter", "sliding_window_log"
USERS, RATE, PASSES = "groups.flood.open.users", "groups.flood.open.rate", "groups.passes.open.rate"
GOOD, SCRAPED = "shoppers.good_per_s", "scrapers.good_per_s"
OF_SHOPPERS = (
    *(Shown(GOOD, "shoppers: good per s"), Shown("shoppers.good_ms", "good, ms")),
    *(Shown("shoppers.limited", "429, %"), Shown("shoppers.shed", "503, %"), Shown("shoppers.failed", "other, %")),
)
COUNTED = {
    "together": "every request alike",
    "by_route": "recommendations by a limit of their own too",
    "by_cost": "a recommendation as 5 requests",
}
"""What counts, in words."""
Levels = Mapping[str, object]


def claim(says: str, response: str, change: str, before: Levels, after: Levels, **where: object) -> DeclaredClaim:
    """A claim on a column of a group; `users` and `rate` are those of the flood, and the same is within 20 %."""
    names = {"users": USERS, "rate": RATE}
    levels = {"from": before, "to": after, "where": where}
    told = {side: {names.get(name, name): level for name, level in one.items()} for side, one in levels.items()}
    same = {"margin": "20 %"} if change == "same" else {}
    return DeclaredClaim.model_validate({"says": says, "response": response, "change": change, **told, **same})


def _limited(row: pd.Series) -> str:
    limits = ["a limit per client"] if row["algorithm"] != UNLIMITED else []
    limits += [f"at most {row['concurrency_limit']:g} in progress"] if row.get("concurrency_limit", 0) else []
    return " and ".join(limits) or "no limit"


def _flooded_by(row: pd.Series) -> str:
    return "one client floods" if row[USERS] == 1 else f"{row[USERS]:g} clients flood"


def _asked(row: pd.Series) -> str:
    way = "at every request" if row["synchronisation"] == "per_request" else f"{row['synchronisation']} lease"
    return f"{row['store']}, {way}" if row["algorithm"] != UNLIMITED else "no limiter"


def _balanced(row: pd.Series) -> str:
    clients = "clients in turn" if row["affinity"] == "none" else "clients keep to one"
    return f"{row['balancers']:g} balancers, {clients}"


NONE, BY_LIMIT, BY_SHEDDING = (
    {"algorithm": name, "concurrency_limit": most} for name, most in ((UNLIMITED, 0), (LOG, 0), (UNLIMITED, 4))
)
ONE, MANY, MORE = {"users": 1}, {"users": 60}, "lets shoppers get more answers"
FLOODED, SET_LIMIT = ({"rate": 1}, {"rate": 60}), ({"algorithm": UNLIMITED}, {"algorithm": LOG})
SENT = {"product_reads": "one_by_one"}, {"product_reads": "bundled"}
TOGETHER, FEWER = {"limits": "together"}, "leaves scrapers fewer recommendations"
SHEDDING, BALANCERS, STRESS = (f"shop-{name}" for name in ("load-shedding", "balancers", "stress"))
ROUTES, OVERLOAD, BUNDLES = (f"shop-{name}" for name in ("limits-by-route", "overload", "bundles"))
SHORTENED = (SHEDDING, BALANCERS, STRESS)
"""Those with a quick form."""
QUESTIONS = {
    "A limit per client against load shedding in the service": Comparison(
        SHEDDING,
        mark="",
        factors=(USERS, "algorithm", "concurrency_limit"),
        condition=_flooded_by,
        configuration=_limited,
        shown=(*OF_SHOPPERS, Shown("flood.good_per_s", "flood: good per s")),
        counted=(
            claim(f"One client floods: a limit per client {MORE}", GOOD, "higher", NONE, BY_LIMIT, **ONE),
            claim(f"One client floods: load shedding {MORE}", GOOD, "higher", NONE, BY_SHEDDING, **ONE),
            claim("Many clients flood: a limit changes nothing for shoppers", GOOD, "same", NONE, BY_LIMIT, **MANY),
            claim(f"Many clients flood: load shedding {MORE}", GOOD, "higher", NONE, BY_SHEDDING, **MANY),
        ),
    ),
    "More balancers, and clients who keep to one": Comparison(
        BALANCERS,
        mark="",
        factors=("algorithm", "store", "synchronisation", "balancers", "affinity"),
        condition=_balanced,
        configuration=_asked,
        shown=(
            Shown("throttling_deviation", "deviation, % of requests"),
            *(Shown("wrongly_allowed", "wrongly allowed, %"), Shown("wrongly_rejected", "wrongly rejected, %")),
            Shown("AverageSuccessTime", "latency, ms", MS_PER_S),
        ),
    ),
    "Stress": Comparison(
        STRESS,
        mark="",
        factors=(PASSES, "algorithm", "store"),
        condition=lambda row: f"{row[PASSES]:g} passes per s",
        configuration=lambda row: "no limiter" if row["algorithm"] == UNLIMITED else row["store"],
        shown=(
            *(Shown("journeys_per_s", "finished per s"), Shown("journey_failure_rate", "failed, %")),
            *(Shown("dropped_rate", "dropped, %"), Shown("p95", "95th percentile, ms", MS_PER_S)),
        ),
    ),
    "Limits by route and by cost": Comparison(
        ROUTES,
        mark="",
        factors=("limits",),
        condition=lambda _: "shoppers and scrapers",
        configuration=lambda row: COUNTED[row["limits"]],
        shown=(*OF_SHOPPERS[:1], Shown(SCRAPED, "scrapers: good per s"), Shown("scrapers.limited", "429, %")),
        counted=(
            claim(f"A limit on the dear route {FEWER}", SCRAPED, "lower", TOGETHER, {"limits": "by_route"}),
            claim(f"A cost {FEWER}", SCRAPED, "lower", TOGETHER, {"limits": "by_cost"}),
            claim("Neither changes what shoppers get", GOOD, "same", TOGETHER, {"limits": ["by_route", "by_cost"]}),
        ),
    ),
    "One overloaded service": Comparison(
        OVERLOAD,
        mark="",
        factors=(RATE, "algorithm"),
        condition=lambda row: f"flooded by {row[RATE]:g} requests per s",
        configuration=_limited,
        shown=(*OF_SHOPPERS[:3], OF_SHOPPERS[4], Shown("flood.good_per_s", "flood: good per s")),
        counted=(
            claim("Without a limit, a flood costs shoppers answers", GOOD, "lower", *FLOODED, algorithm=UNLIMITED),
            claim("With a limit per client, it changes nothing for them", GOOD, "same", *FLOODED, algorithm=LOG),
            claim(f"During a flood, a limit per client {MORE}", GOOD, "higher", *SET_LIMIT, rate=60),
        ),
    ),
    "Bundled product reads": Comparison(
        BUNDLES,
        mark="",
        factors=("algorithm", "product_reads"),
        condition=_limited,
        configuration=lambda row: str(row["product_reads"]).replace("_", " "),
        shown=tuple(Shown(f"{group}.pass_s", f"{group}: pass, s") for group in ("high", "moderate", "low")),
        counted=tuple(
            claim(
                f"{told}, bundled reads shorten the pass of {group} users",
                f"{group}.pass_s",
                "lower",
                *SENT,
                algorithm=at,
            )
            for told, at in (("Unlimited", UNLIMITED), ("Limited", LOG))
            for group in ("high", "moderate", "low")
        ),
    ),
}


def of_left_open(measured: Tables) -> str:
    """Each question with its tables and claims, or how to measure it."""
    answers = {title: _answer(one, measured.get(one.study)) for title, one in QUESTIONS.items()}
    return "\n\n".join(f"### {title}\n\n{answer}" for title, answer in answers.items())


def _answer(one: Comparison, rows: pd.DataFrame | None) -> str:
    if rows is None:
        return not_measured(f"{one.study}{QUICK}" if one.study in SHORTENED else one.study)
    form = rows["study"].iloc[0]
    told = f"Measured with [{form}](../../studies/{one.study}.yaml); blocks: {rows['block'].nunique()}."
    return f"{told}\n\n{part(replace(one, study=form), rows)}"


# --- rounds from records


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round's attempts after the warm-up.

    ``good_per_s`` counts good answers, ``good_ms`` is their mean time; ``limited`` (429), ``shed`` (503) and ``failed``
    (all else that is not good) are percent of its requests.
    """
    sent = rows[(rows["attempt"] > 0) & ~rows["warm_up"]]
    group, good = sent["group"].astype(str).rename("group"), sent["success"].astype(bool)
    seconds = (sent["end_us"].max() - sent["intended_us"].min()) / US_PER_S
    limited, shed = sent["status"] == REJECTED, sent["status"] == SHED
    columns = {
        "good_per_s": good.groupby(group).sum() / seconds,
        "good_ms": ((sent["end_us"] - sent["start_us"]) / US_PER_MS).where(good).groupby(group).mean(),
        "limited": ALL * limited.groupby(group).mean(),
        "shed": ALL * shed.groupby(group).mean(),
        "failed": ALL * (~good & ~limited & ~shed).groupby(group).mean(),
    }
    return pd.DataFrame(columns)


def passes(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round: how many good ``passes`` ended, and their median time, ``pass_s``."""
    times = {str(group): ended_journeys(part) for group, part in rows.groupby("group", observed=True)}
    seconds = {group: ended.seconds[ended.good] for group, ended in times.items()}
    middles = [float(np.median(own)) if len(own) else np.nan for own in seconds.values()]
    columns = {"passes": [len(own) for own in seconds.values()], "pass_s": middles}
    return pd.DataFrame(columns, index=pd.Index(list(seconds), name="group"))


def by_group(one: Comparison, told: Callable[[pd.DataFrame], pd.DataFrame]) -> Reader:
    """Keeps the rounds of a study with what each group got as columns such as `shoppers.good_per_s`."""

    def reader(run: RunFolder) -> dict[str, pd.DataFrame]:
        rounds, files = read_table(run.path), journal.files_of_rounds(run.journal)
        own = [told(attempts.read(run.attempts_of(files[number]))).to_dict("index") for number in rounds["round"]]
        wide = pd.DataFrame([{f"{one}.{name}": row[one][name] for one in row for name in row[one]} for row in own])
        levels = rounds[["block", "scenario", "strategy", *one.factors, "warnings"]]
        return {one.study: pd.concat([levels, wide.set_axis(rounds.index)], axis=1)}

    return reader


READERS: Mapping[str, Reader] = {
    one.study: rounds_as(one.study, one.columns)
    if one.study in (BALANCERS, STRESS)
    else by_group(one, passes if one.study == BUNDLES else answered)
    for one in QUESTIONS.values()
}
"""By the names of studies."""
