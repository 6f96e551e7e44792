"""Reads runs of the studies of rate limits into tables of rounds, from which the page is written.

The tables: ``rounds`` has the judged rounds of a run of ``rate-limiting`` and ``leases`` those of
``rate-limiting-leases``, both on the target. ``shop`` has those of ``rate-limiting-shop``, ``shop-transactions`` and
``shop-passes`` what shoppers saw in them, ``shop-leases`` the judged rounds of ``rate-limiting-shop-leases``. Those of
single questions have the names of their studies: what the paper leaves open, and what it says without numbers. A run of
a study's quick form fills the same tables, and their column ``study`` names the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd

from patternbench.analyze.metrics import ended_journeys, round_metrics, summary_of
from patternbench.ratelimit.analyze.cost import REJECTED
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.report import section
from patternbench.ratelimit.report.tables import BALANCERS, CLIENTS, COST, NONE, PER_REQUEST
from patternbench.records import attempts, damage, observed
from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError, read_table
from reproductions import claimed
from reproductions.comparisons import Comparison, read, readers
from reproductions.pages import MS_PER_S, US_PER_S, Reader, told_by_attempts

TARGET, TARGET_LEASES = "rounds", "leases"
SHOP, TRANSACTIONS, PASSES, LEASES = "shop", "shop-transactions", "shop-passes", "shop-leases"
FIGURES = (
    *("figure-4", "figure-5", "figure-6", "figure-7"),
    *("measured-and-simulated", "map-recorded", "map-bursts"),
)
"""The names of the figures that are kept of a run on the target, in the order of its report."""
CLIENTS_WAY = "client_distance"
NEAR, EXACT = "0ms", "sliding window log"
NAMED = ["round", "block", "algorithm", "store", "synchronisation", "distance", CLIENTS_WAY]
"""What tells a round in every table of the shop."""
TRANSACTION = ["group", "transaction"]
BY_CLIENTS = f"{CLIENTS}.measured.client_mean"
CLAIMS = claimed.read("kalyanasundaram_2025/claims.yaml")
"""What the page claims of its tables."""
QUESTIONS = read("kalyanasundaram_2025/left_open.yaml")
SENSITIVITY = read("kalyanasundaram_2025/sensitivity.yaml")
"""What each study asks that the paper leaves open, or says without numbers, in the order of the page.

On the shop most compare what groups of users get: a column such as ``shoppers.goodput`` is a response of one group.
"""
FACTORS = ("algorithm", "store", "synchronisation", "store_delay", "lease_holder", "distance")
LEVELS = {NONE: "per_request", PER_REQUEST: "per_request", "lazy lease": "lazy", "eager lease": "eager"}
"""The levels of synchronisation by what the tables of the report call them."""
RESPONSES = {
    "Throughput": "throughput",
    "throttling_deviation": f"{BALANCERS}.measured.deviation",
    "throttling_deviation_by_client": f"{BALANCERS}.measured.client_mean",
    "throttling_peak": f"{BALANCERS}.measured.peak",
}
"""The responses that claims are about, by the columns of judged rounds."""


def held_claims(rows: pd.DataFrame) -> str:
    """Return the claims of the study that judged rounds are of, each held against them.

    Without a limiter rounds are of Redis, near.
    """
    levels = {
        "algorithm": rows["algorithm"].str.replace(" ", "_"),
        "store": rows["store"].replace(NONE, "redis"),
        "synchronisation": rows["synchronisation"].map(LEVELS),
        "store_delay": rows["distance"].replace(NONE, NEAR),
        "lease_holder": rows["also"].str.extract(r"lease holder (\w+)", expand=False).fillna("worker"),
        "distance": rows.get(CLIENTS_WAY, NEAR),
    }
    there = {name: rows[column] for name, column in RESPONSES.items() if column in rows}
    own = pd.DataFrame({"block": rows["block"], **levels, "AverageSuccessTime": rows[COST] / MS_PER_S, **there})
    found = claimed.levelled(own, FACTORS).hold(claimed.claims(rows["study"].iloc[0]))
    return claimed.verdict_table(found, "statement")


def judged(run: RunFolder) -> pd.DataFrame:
    """Return the judged rounds of a run, with what was simulated of each; raises TableError where it has none yet."""
    if not run.rounds.is_file():
        raise TableError(
            f"{run.path} has no {run.rounds.name}: let the run end, or type `patternbench report {run.path}`"
        )
    rows = section.judged_rounds(run, pd.read_parquet(run.rounds)).frame
    again = simulated.read(run)
    answers = again.rounds if again else {}
    rows["simulated"] = [getattr(answers.get(str(number)), "deviation", None) for number in rows["round"]]
    return rows


def like(rows: pd.DataFrame, **expected: str) -> pd.DataFrame:
    """Return the rows that have these values."""
    return rows[(rows[list(expected)] == pd.Series(expected)).all(axis=1)]


def near(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with stores and clients near; without a limiter there is no store."""
    return rows[rows["distance"].isin((NEAR, NONE)) & (rows[CLIENTS_WAY] == NEAR)]


def on_target(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return the judged rounds of a run on the target, and the figures that its report drew of them."""
    drawn = sorted((run.path / "figures").glob("rate-limiting-*.svg"))
    if len(drawn) != len(FIGURES):
        lacking = f"has {len(drawn)} figures of rate limits instead of {len(FIGURES)}"
        raise TableError(f"{run.path / 'figures'} {lacking}: type `patternbench report {run.path}`")
    figures = {f"{name}.svg": file.read_text("utf-8") for name, file in zip(FIGURES, drawn, strict=True)}
    return {TARGET: judged(run), **figures}


def of_shop(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return the judged rounds that are valid, and what shoppers saw in each: their transactions, and whole passes."""
    rounds, files = read_table(run.path), damage.files_of_rounds(run)
    rows = judged(run)
    distances = {name: str(one.get("distance", NEAR)) for name, one in observed.settings(run).items()}
    ways = dict(zip(rounds["round"], rounds["scenario"].map(distances), strict=True))
    rows = rows[rows["round"].isin(list(ways))].assign(**{CLIENTS_WAY: rows["round"].map(ways)})
    once = rows[NAMED].drop_duplicates("round")
    seen = {number: attempts.read(run.attempts_of(files[number])) for number in once["round"]}
    tables = {SHOP: rows}
    for name, tell in ((TRANSACTIONS, transactions), (PASSES, passes)):
        parts = [tell(sent).reset_index().assign(round=number) for number, sent in seen.items()]
        tables[name] = once.merge(pd.concat(parts, ignore_index=True), on="round")
    return tables


def passes(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round: how many good ``passes`` ended, and their median time, ``pass_s``."""
    times = {str(group): ended_journeys(part) for group, part in rows.groupby("group", observed=True)}
    good = {group: pd.Series(ended.seconds[ended.good]) for group, ended in times.items()}
    columns = {"passes": [len(own) for own in good.values()], "pass_s": [own.median() for own in good.values()]}
    return pd.DataFrame(columns, index=pd.Index(list(good), name="group"))


def transactions(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` and ``transaction`` of a round's attempts after the warm-up.

    ``latency_ms`` is the mean time of an admitted request, ``rejected`` the percent of requests answered 429,
    ``finish_s`` the mean time from a transaction's first intended start to its last answer, with all its turns, over
    passes that ended and do not touch the warm-up; NaN without any.
    """
    sent = rows[(rows["attempt"] > 0) & ~rows["warm_up"]]
    own = sent.assign(group=sent["group"].astype(str), transaction=sent["step"].astype(str))
    took_ms = ((own["end_us"] - own["start_us"]) * MS_PER_S / US_PER_S).where(own["success"].to_numpy(bool))
    each = own.assign(latency_ms=took_ms, rejected=100.0 * (own["status"] == REJECTED)).groupby(TRANSACTION)
    over, warm = own.loc[own["ends_journey"], "journey"], rows.loc[rows["warm_up"], "journey"]
    turns = own[own["journey"].isin(over) & ~own["journey"].isin(warm)].groupby([*TRANSACTION, "journey"])
    spans = (turns["end_us"].max() - turns["intended_us"].min()) / US_PER_S
    return each[["latency_ms", "rejected"]].mean().assign(finish_s=spans.groupby(level=TRANSACTION).mean())


def of_groups(rows: pd.DataFrame) -> dict[str, float]:
    """Return the responses of each group of users in a round, such as ``shoppers.goodput``; rates are of all of it."""
    span, parts = summary_of(rows).span, rows.groupby(rows["group"].astype(str))
    return {
        f"{group}.{name}": value for group, part in parts for name, value in round_metrics(part, length_s=span).items()
    }


def by_group(one: Comparison, run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a study's rounds, with what is asked of each group."""
    both = told_by_attempts(run, lambda _, rows: of_groups(rows))
    return {one.study: both[[name for name in one.columns if name in both]]}


READERS: Mapping[str, Reader] = {
    "rate-limiting": on_target,
    "rate-limiting-leases": lambda run: {TARGET_LEASES: judged(run)},
    "rate-limiting-shop": of_shop,
    "rate-limiting-shop-leases": lambda run: {LEASES: judged(run)},
    **readers(QUESTIONS),
    **readers(SENSITIVITY),
    **{study: partial(by_group, one) for study, one in QUESTIONS.items() if one.counted},
}
"""By the names of studies, without the end of a quick form."""
